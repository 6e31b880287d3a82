//! Enums whose variants reports call by words.

/// An enum of which each variant is a row: what it means, its name, and its word in reports.
///
/// Makes `ALL`, the variants in order, `NAMES`, their words, and `word`.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $visibility:vis enum $name:ident { $($(#[$meaning:meta])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        $visibility enum $name { $($(#[$meaning])+ $variant,)+ }

        impl $name {
            /// All, in order.
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];
            /// Their words, in order.
            pub const NAMES: [&'static str; $name::ALL.len()] = [$($word),+];

            /// What reports call it.
            pub const fn word(self) -> &'static str {
                $name::NAMES[self as usize]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    words! {
        /// How it ends.
        enum End {
            /// By itself.
            Done = "done",
            /// By somebody.
            Ended = "was_ended",
        }
    }

    #[test]
    fn words_come_from_a_row_each() {
        let told = End::ALL.map(|end| format!("{end:?} `{}`", end.word()));
        assert_eq!(told, ["Done `done`", "Ended `was_ended`"]);
        assert_eq!(End::NAMES, ["done", "was_ended"]);
    }
}
