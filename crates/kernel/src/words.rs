//! Enums whose variants have names for reports.

/// Declares an enum. Each variant is a row: documentation, variant, and its name in reports.
///
/// Also defines `ALL` (the variants in order), `NAMES` (their names), `ABOUT` (their documentation) and `word` (one name).
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $visibility:vis enum $name:ident { $($(#[doc = $meaning:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        $visibility enum $name { $($(#[doc = $meaning])+ $variant,)+ }

        impl $name {
            /// All variants, in order.
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];
            /// Their names, in order.
            pub const NAMES: [&'static str; $name::ALL.len()] = [$($word),+];
            /// Their documentation, in order.
            pub const ABOUT: [&'static str; $name::ALL.len()] = [$(concat!($($meaning),+).trim_ascii()),+];

            /// Its name in reports.
            pub const fn word(self) -> &'static str {
                $name::NAMES[self as usize]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    words! {
        /// Reason why a run ended.
        enum End {
            /// All work is done.
            Done = "done",
            /// The user ended it.
            Ended = "was_ended",
        }
    }

    #[test]
    fn each_row_is_a_variant_and_its_name() {
        let shown = End::ALL.map(|end| format!("{end:?} `{}`", end.word()));
        assert_eq!(shown, ["Done `done`", "Ended `was_ended`"]);
        assert_eq!(End::NAMES, ["done", "was_ended"]);
        assert_eq!(End::ABOUT, ["All work is done.", "The user ended it."]);
    }
}
