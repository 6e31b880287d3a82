//! Enums whose variants reports call by words.

/// An enum of which each variant is a row: what it means, its name, and its word in reports.
///
/// Makes `NAMES`, the words in order, `word` and `meaning`.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $visibility:vis enum $name:ident { $($(#[doc = $meaning:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        $visibility enum $name { $($(#[doc = $meaning])+ $variant,)+ }

        #[allow(dead_code, reason = "who makes such an enum may not need all of these")]
        impl $name {
            /// All, in order.
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];
            /// Their words, in order.
            pub const NAMES: [&'static str; $name::ALL.len()] = [$($word),+];

            /// What reports call it.
            pub const fn word(self) -> &'static str {
                $name::NAMES[self as usize]
            }

            /// What it means, for people.
            pub const fn meaning(self) -> &'static str {
                match self { $($name::$variant => concat!($($meaning),+).trim_ascii(),)+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    words! {
        /// How it ends.
        enum End {
            /// By itself, at
            /// last.
            Done = "done",
            /// By somebody.
            Ended = "was_ended",
        }
    }

    #[test]
    fn words_and_meanings_come_from_a_row_each() {
        let told = End::ALL.map(|end| format!("{end:?} `{}`: {}", end.word(), end.meaning()));
        assert_eq!(told, ["Done `done`: By itself, at last.", "Ended `was_ended`: By somebody."]);
        assert_eq!(End::NAMES, ["done", "was_ended"]);
    }
}
