//! PTX text to tokens with line numbers.

use luminal_core::error::{Error, Result};

/// A word (name, number, dotted opcode or directive) or one punctuation character.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub text: &'a str,
    pub line: usize,
}

impl Token<'_> {
    /// An error at this place.
    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        error_at(self.line, message)
    }
}

/// An error at a line of the text.
pub(super) fn error_at(line: usize, message: impl std::fmt::Display) -> Error {
    Error::new(format!("PTX line {line}: {message}"))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// All tokens; comments are dropped.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let mut found = vec![];
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first == '\n' {
            line += 1;
            1
        } else if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            let Some(end) = rest.find("*/") else {
                return Err(error_at(line, "a comment that never ends"));
            };
            line += rest[..end].matches('\n').count();
            end + 2
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            found.push(Token { text: &rest[..end], line });
            end
        } else if "{}[]()<>,;:+-@!|".contains(first) {
            found.push(Token { text: &rest[..1], line });
            1
        } else {
            return Err(error_at(line, format_args!("unexpected character `{first}`")));
        };
        rest = &rest[length..];
    }
    Ok(found)
}

/// A position in a list of tokens.
pub(super) struct Cursor<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(tokens: &'a [Token<'a>]) -> Self {
        Cursor { tokens, at: 0 }
    }

    pub fn is_at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    /// The text of the token ahead; empty at the end.
    pub fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| token.text)
    }

    /// The text of the token after the one ahead.
    pub fn peek_second(&self) -> &'a str {
        self.tokens.get(self.at + 1).map_or("", |token| token.text)
    }

    /// Line of the token ahead, for messages.
    pub fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |token| token.line)
    }

    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        error_at(self.line(), message)
    }

    pub fn next(&mut self) -> Result<Token<'a>> {
        let token = self.tokens.get(self.at).ok_or_else(|| self.error("the text ends too early"))?;
        self.at += 1;
        Ok(*token)
    }

    /// Steps over this token if it is ahead.
    pub fn accept(&mut self, text: &str) -> bool {
        let found = self.peek() == text;
        self.at += found as usize;
        found
    }

    pub fn expect(&mut self, text: &str) -> Result<()> {
        let token = self.next()?;
        if token.text == text {
            Ok(())
        } else {
            Err(token.error(format_args!("expected `{text}`, found `{}`", token.text)))
        }
    }

    /// A non-negative decimal or hexadecimal integer.
    pub fn number(&mut self) -> Result<usize> {
        let token = self.next()?;
        let value = match token.text.strip_prefix("0x") {
            Some(digits) => usize::from_str_radix(digits, 16),
            None => token.text.parse(),
        };
        value.map_err(|_| token.error(format_args!("expected a number, found `{}`", token.text)))
    }

    /// The tokens up to a semicolon, which is stepped over.
    pub fn statement(&mut self) -> Result<&'a [Token<'a>]> {
        let start = self.at;
        while self.next()?.text != ";" {}
        Ok(&self.tokens[start..self.at - 1])
    }
}
