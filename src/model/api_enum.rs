//! Enums that the API writes as fixed words, such as `PAY_PER_REQUEST`: the trait [`ApiEnum`], and the
//! macro `api_enums!`, which declares an enum with its words. Each word stands once in the source, and
//! serves both directions of the wire and every other use.

/// A value that the API spells as a word.
pub trait ApiEnum: Copy {
    /// All words, in the order in which the service lists them.
    const VALUES: &'static [&'static str];

    /// Returns the word of the value.
    fn as_str(self) -> &'static str;

    /// Returns the value of the word.
    fn parse(word: &str) -> Option<Self>;
}

/// Declares such enums: the values in the order in which the service lists them, each with its
/// word.
macro_rules! api_enums {
    ($(
        $(#[$attribute:meta])*
        $kind:ident { $($(#[$value_attribute:meta])* $value:ident = $word:literal),+ $(,)? }
    )+) => {
        $(
            $(#[$attribute])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub enum $kind {
                $($(#[$value_attribute])* $value),+
            }

            impl $crate::model::ApiEnum for $kind {
                const VALUES: &'static [&'static str] = &[$($word),+];

                fn as_str(self) -> &'static str {
                    match self { $(Self::$value => $word),+ }
                }

                fn parse(word: &str) -> Option<Self> {
                    match word { $($word => Some(Self::$value),)+ _ => None }
                }
            }
        )+
    };
}
pub(crate) use api_enums;
