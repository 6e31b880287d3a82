//! Parts of error messages that all crates share: suggestions for misspelt names, carets under a position in a text,
//! and bounds of parameters.

pub mod near;
pub mod param;
pub mod text;
