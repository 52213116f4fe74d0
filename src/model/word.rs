//! Values that the API names by a word: each word stands once, for both directions of the wire and whatever else shows it.

/// A value that has a word.
pub trait Word: Copy {
    /// All of them, in the order in which the service lists them.
    const WORDS: &'static [&'static str];

    /// As the API spells it.
    fn word(self) -> &'static str;

    /// What the API spells so.
    fn of_word(word: &str) -> Option<Self>;
}

/// Declares such types: the values in the order in which the service lists them, each with its word.
macro_rules! words {
    ($(
        $(#[$attribute:meta])*
        $kind:ident { $($(#[$of_value:meta])* $value:ident = $word:literal),+ $(,)? }
    )+) => {
        $(
            $(#[$attribute])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub enum $kind {
                $($(#[$of_value])* $value),+
            }

            impl $crate::model::Word for $kind {
                const WORDS: &'static [&'static str] = &[$($word),+];

                fn word(self) -> &'static str {
                    match self { $(Self::$value => $word),+ }
                }

                fn of_word(word: &str) -> Option<Self> {
                    match word { $($word => Some(Self::$value),)+ _ => None }
                }
            }
        )+
    };
}
pub(crate) use words;
