//! Scenes.
