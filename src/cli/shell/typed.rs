//! The word that is being typed at the end of a bash's line: what it says, and how much of it readline keeps when it completes.

/// A word, as far as it is typed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Typed {
    /// Without quotes and backslashes.
    pub text: String,
    /// As it was typed, from where readline completes it up to its last slash.
    pub directory: String,
    /// Bytes of `text` behind its last slash that readline keeps.
    pub kept: usize,
}

/// Where readline's own word begins.
#[derive(Debug, Default, Clone, Copy)]
struct Start {
    raw: usize,
    text: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// The last word of a line. `breaks`: the characters at which readline begins another one, `COMP_WORDBREAKS`.
pub fn last_word(line: &str, breaks: &str) -> Typed {
    let (mut text, mut quote) = (String::new(), Quote::None);
    // Of the word, of the part behind its last slash, and of what readline completes, now and outside of the open quote.
    let (mut slash, mut start, mut outside) = (Start::default(), Start::default(), Start::default());
    let mut characters = line.char_indices();
    while let Some((at, character)) = characters.next() {
        let next = at + character.len_utf8();
        match (quote, character) {
            (Quote::None, '\\') | (Quote::Double, '\\') => text.extend(characters.next().map(|(_, character)| character)),
            (Quote::None, '\'' | '"') => {
                quote = if character == '"' { Quote::Double } else { Quote::Single };
                (outside, start) = (start, Start { raw: next, text: text.len() });
            }
            (Quote::Single, '\'') | (Quote::Double, '"') => (quote, start) = (Quote::None, outside),
            (Quote::None, ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>') => {
                text.clear();
                start = Start { raw: next, text: 0 };
                slash = start;
            }
            (_, '/') => {
                text.push('/');
                slash = Start { raw: next, text: text.len() };
            }
            (Quote::None, _) if breaks.contains(character) => {
                text.push(character);
                start = Start { raw: next, text: text.len() };
            }
            _ => text.push(character),
        }
    }
    let directory = line.get(start.raw..slash.raw).unwrap_or_default().to_owned();
    Typed { kept: start.text.saturating_sub(slash.text), directory, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_breaks_are_those_of_bash() {
        let cases: [(&str, &str, &str, usize); 12] = [
            ("cat Pets/query/@pk=Do", "Pets/query/@pk=Do", "", 4),
            ("cat Pets/query/li", "Pets/query/li", "Pets/query/", 0),
            ("cat a@b/query/li", "a@b/query/li", "b/query/", 0),
            (r"cat my\ mnt/T/qu", "my mnt/T/qu", r"my\ mnt/T/", 0),
            ("cat 'my mnt/T/@pk=D", "my mnt/T/@pk=D", "my mnt/T/", 0),
            ("cat 'my mnt'/T/qu", "my mnt/T/qu", "'my mnt'/T/", 0),
            ("cat T/\"@pk=D", "T/@pk=D", "", 0),
            ("cat T/@pk=\"D", "T/@pk=D", "", 4),
            (r"cat T/\$\(x\)/l", "T/$(x)/l", r"T/\$\(x\)/", 0),
            ("cat <T/qu", "T/qu", "T/", 0),
            ("true;cat ", "", "", 0),
            ("cat T/x\\", "T/x", "T/", 0),
        ];
        for (line, text, directory, kept) in cases {
            let expected = Typed { text: text.to_owned(), directory: directory.to_owned(), kept };
            assert_eq!(last_word(line, " \t\n\"'@><=;|&(:"), expected, "{line}");
        }
    }
}
