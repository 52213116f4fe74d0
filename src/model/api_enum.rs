//! Enums that the API writes as fixed words, such as `PAY_PER_REQUEST`: the trait [`Word`] and the
//! macro `words!`, which declares an enum with its words. Each word stands once in the source, and
//! serves both directions of the wire and every other use.

/// A value that the API spells as a word.
pub trait Word: Copy {
    /// All words, in the order in which the service lists them.
    const WORDS: &'static [&'static str];

    /// Returns the word of the value.
    fn word(self) -> &'static str;

    /// Returns the value of the word.
    fn of_word(word: &str) -> Option<Self>;
}

/// Declares such enums: the values in the order in which the service lists them, each with its
/// word.
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
