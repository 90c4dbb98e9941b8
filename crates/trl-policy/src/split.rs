//! From a command's text to its simple commands, or to the word that it is opaque.
//!
//! 1. [`crate::lex`] reads words; here they become commands, joined by `;`, newline, `&&`, `||`, `|` and `&`.
//! 2. The name of a command is known exactly and is no reserved word of any shell.
//! 3. Redirections are `<`, `>`, `>>`, `>&n`, and `<<WORD` whose body needs no expansion.
//! 4. Whatever is left over makes the whole text opaque: shells read a text piece by piece, and what comes before a
//!    surprise has run by then.
//!
//! For shells of other families there is [`crate::closed`]. This does not judge anything.

use crate::closed;
use crate::lex::{Lexed, Lexer};
use crate::plain::{Assignment, Command, Direction, Joint, Known, Opaque, Redirection, Split, Word};
use crate::shell::ShellKind;

/// Longer texts are opaque: nobody types them, and time to read them is bounded.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// Words that begin something other than a simple command in one of the shells.
const RESERVED: [&str; 34] = [
    "!",
    "[[",
    "]]",
    "{",
    "}",
    "case",
    "coproc",
    "do",
    "done",
    "elif",
    "else",
    "end",
    "esac",
    "fi",
    "for",
    "foreach",
    "function",
    "if",
    "in",
    "nocorrect",
    "noglob",
    "repeat",
    "select",
    "then",
    "until",
    "while",
    "and",
    "or",
    "not",
    "begin",
    "switch",
    "always",
    "namespace",
    "nameref",
];

/// Splits a text as the given shell would.
#[must_use]
pub fn split(shell: ShellKind, text: &str) -> Split {
    let read = match shell {
        _ if text.len() > MAX_TEXT_BYTES => Err(Opaque { why: "a very long text", at: MAX_TEXT_BYTES }),
        ShellKind::Other => closed::read(text),
        ShellKind::Sh | ShellKind::Bash | ShellKind::Zsh | ShellKind::Ash => Reader::new(text).read(),
    };
    match read {
        Ok(commands) => Split::Plain(commands),
        Err(opaque) => Split::Opaque(opaque),
    }
}

/// Whether a command of that name is a simple command in every shell.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let first_is_fine = name == "["
        || matches!(
            name.as_bytes().first(),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'/' | b':')
        );
    first_is_fine && !name.contains(['=', '\n']) && !RESERVED.contains(&name)
}

#[derive(Debug)]
struct Reader<'a> {
    lexer: Lexer<'a>,
    commands: Vec<Command>,
    /// The delimiter of a `<<` on this line, whether it was quoted, and the command it belongs to.
    here: Option<Here>,
}

#[derive(Debug)]
struct Here {
    delimiter: String,
    quoted: bool,
    command: usize,
    redirection: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self { lexer: Lexer::new(text), commands: Vec::new(), here: None }
    }

    fn read(mut self) -> Result<Vec<Command>, Opaque> {
        while self.seek_command()? {
            let command = self.command()?;
            self.commands.push(command);
            self.joint()?;
        }
        if self.here.is_some() {
            return self.lexer.opaque("a here-document without an end");
        }
        Ok(self.commands)
    }

    /// To the first byte of the next command, if there is one.
    fn seek_command(&mut self) -> Result<bool, Opaque> {
        let must_follow = self
            .commands
            .last()
            .is_some_and(|command| matches!(command.joint, Joint::And | Joint::Or | Joint::Pipe));
        loop {
            self.blanks()?;
            match self.lexer.peek() {
                None if must_follow => return self.lexer.opaque("an operator with nothing behind it"),
                None => return Ok(false),
                Some(b'\n') => self.newline()?,
                Some(b'#') if !must_follow && self.at_line_start() => self.comment()?,
                Some(_) => return Ok(true),
            }
        }
    }

    fn at_line_start(&self) -> bool {
        self.lexer.bytes[..self.lexer.pos]
            .iter()
            .rev()
            .take_while(|byte| **byte != b'\n')
            .all(|b| matches!(b, b' ' | b'\t'))
    }

    /// A line of its own, and harmless even where comments are off and it is read as a command named `#`.
    fn comment(&mut self) -> Result<(), Opaque> {
        self.lexer.pos += 1;
        while let Some(byte) = self.lexer.peek() {
            match byte {
                b'\n' => break,
                b' ' | b'\t' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'#' => {}
                b'_' | b'.' | b'/' | b':' | b',' | b'@' | b'%' | b'+' | b'-' => {}
                _ => return self.lexer.opaque("a comment"),
            }
            self.lexer.pos += 1;
        }
        Ok(())
    }

    fn blanks(&mut self) -> Result<(), Opaque> {
        if self.lexer.skip_blanks() && self.here.is_some() {
            return self.lexer.opaque("a continued line before a here-document");
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command, Opaque> {
        let from = self.lexer.pos;
        let mut command = Command {
            words: Vec::new(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            at: from..from,
            joint: Joint::Then,
        };
        loop {
            self.blanks()?;
            match self.lexer.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|') => break,
                Some(b'<' | b'>') => self.redirection(None, &mut command)?,
                Some(digit @ b'0'..=b'9') if matches!(self.lexer.ahead(1), Some(b'<' | b'>')) => {
                    self.lexer.pos += 1;
                    self.redirection(Some(digit - b'0'), &mut command)?;
                }
                Some(_) => {
                    let lexed = self.word()?;
                    self.take(lexed, &mut command)?;
                }
            }
            command.at.end = self.lexer.pos;
        }
        if command.words.is_empty() && (command.assignments.is_empty() || !command.redirections.is_empty()) {
            return self.lexer.opaque("an operator or a redirection without a command");
        }
        Ok(command)
    }

    fn word(&mut self) -> Result<Lexed, Opaque> {
        let lexed = self.lexer.word()?;
        if lexed.has_newline && self.here.is_some() {
            return self.lexer.opaque("a quoted newline before a here-document");
        }
        Ok(lexed)
    }

    fn take(&mut self, lexed: Lexed, command: &mut Command) -> Result<(), Opaque> {
        if !command.words.is_empty() {
            command.words.push(lexed.word);
            return Ok(());
        }
        let spelled = &self.lexer.bytes[lexed.word.at.clone()];
        if let Some(len) = lexed.name_len {
            let value = Word {
                text: lexed.word.text.get(len + 1..).unwrap_or_default().to_string(),
                known: lexed.word.known,
                at: lexed.word.at.start + len + 1..lexed.word.at.end,
            };
            let name = String::from_utf8_lossy(&spelled[..len]).into_owned();
            command.assignments.push(Assignment { name, value });
            return Ok(());
        }
        // The one name with a bracket: `[` is a command only when it stands alone.
        let word = if spelled == b"[" {
            Word { known: Known::Exactly, text: "[".into(), ..lexed.word }
        } else {
            lexed.word
        };
        match word.literal() {
            Some(name) if is_plain_name(name) && (name != "[" || !lexed.quoted) => {
                command.words.push(word);
                Ok(())
            }
            Some(_) => self.lexer.opaque("a reserved word or an odd name"),
            None => self.lexer.opaque("a command whose name is not known"),
        }
    }

    fn redirection(&mut self, fd: Option<u8>, command: &mut Command) -> Result<(), Opaque> {
        let from = self.lexer.pos - usize::from(fd.is_some());
        let direction = self.redirection_operator()?;
        let target = match direction {
            Direction::Duplicate => self.descriptor()?,
            Direction::Here => self.delimiter(command.redirections.len())?,
            Direction::Read | Direction::Write | Direction::Append => self.target()?,
        };
        command.redirections.push(Redirection { fd, direction, target, at: from..self.lexer.pos });
        Ok(())
    }

    fn redirection_operator(&mut self) -> Result<Direction, Opaque> {
        let (direction, len) = match (self.lexer.peek(), self.lexer.ahead(1)) {
            (Some(b'<'), Some(b'<')) => (Direction::Here, 2),
            // `<1-5>` is a pattern of zsh.
            (Some(b'<'), Some(b'0'..=b'9' | b'-')) => return self.lexer.opaque("a redirection"),
            (Some(b'<'), _) => (Direction::Read, 1),
            (_, Some(b'>')) => (Direction::Append, 2),
            (_, Some(b'&')) => (Direction::Duplicate, 2),
            _ => (Direction::Write, 1),
        };
        self.lexer.pos += len;
        Ok(direction)
    }

    fn descriptor(&mut self) -> Result<Word, Opaque> {
        let from = self.lexer.pos;
        let ends = matches!(self.lexer.ahead(1), None | Some(b' ' | b'\t' | b'\n' | b';' | b'|'));
        match self.lexer.peek() {
            Some(byte @ (b'0'..=b'9' | b'-')) if ends => {
                self.lexer.pos += 1;
                Ok(Word { text: char::from(byte).to_string(), known: Known::Exactly, at: from..from + 1 })
            }
            _ => self.lexer.opaque("a redirection"),
        }
    }

    fn target(&mut self) -> Result<Word, Opaque> {
        if self.lexer.skip_blanks() {
            return self.lexer.opaque("a continued line in a redirection");
        }
        match self.lexer.peek() {
            None | Some(b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'!' | b'#') => {
                self.lexer.opaque("a redirection")
            }
            Some(_) => Ok(self.word()?.word),
        }
    }

    fn delimiter(&mut self, redirection: usize) -> Result<Word, Opaque> {
        // `<<<` and `<<-` are refused with everything that is not a blank or a delimiter.
        while matches!(self.lexer.peek(), Some(b' ' | b'\t')) {
            self.lexer.pos += 1;
        }
        if !matches!(self.lexer.peek(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'\'' | b'"')) || self.here.is_some()
        {
            return self.lexer.opaque("a here-document");
        }
        let lexed = self.lexer.word()?;
        let spelled = &self.lexer.bytes[lexed.word.at.clone()];
        let inner = match spelled {
            [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
            bare => bare,
        };
        if inner.is_empty() || !inner.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            return self.lexer.opaque("a here-document");
        }
        let delimiter = String::from_utf8_lossy(inner).into_owned();
        self.here = Some(Here { delimiter, quoted: lexed.quoted, command: self.commands.len(), redirection });
        Ok(Word { text: String::new(), known: Known::Exactly, at: lexed.word.at })
    }

    fn joint(&mut self) -> Result<(), Opaque> {
        let (joint, len) = match (self.lexer.peek(), self.lexer.ahead(1)) {
            (None, _) => (Joint::Then, 0),
            (Some(b'\n'), _) => {
                self.newline()?;
                (Joint::Then, 0)
            }
            (Some(b';'), Some(b';' | b'&' | b'|')) => return self.lexer.opaque("`;;`"),
            (Some(b';'), _) => (Joint::Then, 1),
            (Some(b'&'), Some(b'&')) => (Joint::And, 2),
            (Some(b'&'), None | Some(b' ' | b'\t' | b'\n')) => (Joint::Background, 1),
            (Some(b'|'), Some(b'|')) => (Joint::Or, 2),
            (Some(b'|'), Some(b'&')) => return self.lexer.opaque("`|&`"),
            (Some(b'|'), _) => (Joint::Pipe, 1),
            _ => return self.lexer.opaque("`&`"),
        };
        let piped = matches!(self.commands.as_slice(), [.., before, _] if before.joint == Joint::Pipe);
        if let Some(command) = self.commands.last_mut() {
            command.joint = joint;
            // zsh refuses it in the background, and takes another command's status for its own in a pipeline.
            if command.words.is_empty() && (piped || matches!(joint, Joint::Background | Joint::Pipe)) {
                return self.lexer.opaque("an assignment in the background or in a pipeline");
            }
        }
        self.lexer.pos += len;
        Ok(())
    }

    /// The end of a line, and the here-document that begins after it.
    fn newline(&mut self) -> Result<(), Opaque> {
        self.lexer.pos += 1;
        let Some(here) = self.here.take() else { return Ok(()) };
        let from = self.lexer.pos;
        loop {
            let line_from = self.lexer.pos;
            let rest = &self.lexer.bytes[line_from..];
            if rest.is_empty() {
                return self.lexer.opaque("a here-document without an end");
            }
            let len = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let line = &rest[..len];
            self.lexer.pos += len;
            if line == here.delimiter.as_bytes() {
                self.keep_body(&here, from, line_from);
                return Ok(());
            }
            let sound = line.iter().all(|byte| {
                (*byte == b'\t' || *byte >= 0x20)
                    && *byte != 0x7f
                    && (here.quoted || !matches!(byte, b'$' | b'`' | b'\\'))
            });
            if !sound {
                return self.lexer.opaque("an expansion or a control character in a here-document");
            }
            self.lexer.pos = (self.lexer.pos + 1).min(self.lexer.bytes.len());
        }
    }

    fn keep_body(&mut self, here: &Here, from: usize, to: usize) {
        let body = String::from_utf8_lossy(&self.lexer.bytes[from..to]).into_owned();
        if let Some(redirection) = self
            .commands
            .get_mut(here.command)
            .and_then(|command| command.redirections.get_mut(here.redirection))
        {
            redirection.target.text = body;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<Command> {
        match split(ShellKind::Bash, text) {
            Split::Plain(commands) => commands,
            Split::Opaque(opaque) => panic!("{text:?}: {opaque}"),
        }
    }

    fn words(text: &str) -> Vec<Vec<String>> {
        plain(text).iter().map(|c| c.words.iter().map(|w| w.text.clone()).collect()).collect()
    }

    fn why(text: &str) -> &'static str {
        match split(ShellKind::Bash, text) {
            Split::Plain(commands) => panic!("{text:?} is plain: {commands:?}"),
            Split::Opaque(opaque) => opaque.why,
        }
    }

    #[test]
    fn quotes_are_removed() {
        assert_eq!(
            words(r#"git commit -m "a \"b\" \\n \d" 'it'\''s' x\ y"#),
            [["git", "commit", "-m", r#"a "b" \n \d"#, "it's", "x y"]]
        );
    }

    #[test]
    fn commands_know_where_they_stand() {
        let text = "cd /x && git push | tee log; ls\nA=1 make >out 2>&1 &";
        let commands = plain(text);
        let pieces: Vec<_> = commands.iter().map(|c| (&text[c.at.clone()], c.joint)).collect();
        assert_eq!(
            pieces,
            [
                ("cd /x", Joint::And),
                ("git push", Joint::Pipe),
                ("tee log", Joint::Then),
                ("ls", Joint::Then),
                ("A=1 make >out 2>&1", Joint::Background),
            ]
        );
        assert_eq!(commands[4].assignments[0].name, "A");
        assert_eq!(commands[4].redirections.len(), 2);
    }

    #[test]
    fn what_a_shell_expands_is_known_as_far_as_it_goes() {
        let command = &plain(r#"ls src/*.rs $x "$HOME/a" HEAD~1 {a,b} {} a=~/b"#)[0];
        let known: Vec<_> = command.words[1..].iter().map(|w| (w.text.as_str(), w.known)).collect();
        assert_eq!(
            known,
            [
                ("src/", Known::Beginning),
                ("", Known::Nothing),
                ("", Known::Beginning),
                ("HEAD", Known::Beginning),
                ("", Known::Beginning),
                ("{}", Known::Exactly),
                ("a=", Known::Beginning),
            ]
        );
    }

    #[test]
    fn a_here_document_is_the_word_of_its_redirection() {
        let commands = plain("cat > a.txt <<'EOF' && ls\n$x `y`\nEOF\nb <<E\nplain\nE");
        assert_eq!(commands[0].redirections[1].target.text, "$x `y`\n");
        assert_eq!(commands[1].words[0].text, "ls");
        assert_eq!(commands[2].redirections[0].target.text, "plain\n");
        assert_eq!(why("cat <<EOF\n$(x)\nEOF"), "an expansion or a control character in a here-document");
        assert_eq!(why("cat <<EOF\nx\n"), "a here-document without an end");
        assert_eq!(why("cat <<EOF"), "a here-document without an end");
    }

    #[test]
    fn lines_continue_at_a_blank_only() {
        assert_eq!(words("docker run \\\n  --rm x"), [["docker", "run", "--rm", "x"]]);
        assert_eq!(why("git pu\\\nsh"), "a line continued within a word");
    }

    #[test]
    fn a_harmless_comment_line_is_nothing() {
        assert_eq!(words("# list it\nls\n  # done"), [["ls"]]);
        assert_eq!(why("# $(x)\nls"), "a comment");
        assert_eq!(why("ls # all"), "a comment");
    }

    #[test]
    fn nothing_is_plain_and_empty() {
        assert!(plain("").is_empty());
        assert!(plain(" \n\t\n").is_empty());
    }

    #[test]
    fn the_rest_is_opaque() {
        for text in [
            "$(ls)",
            "`ls`",
            "a `b`",
            "a <(b)",
            "(a)",
            "{ a; }",
            "if a; then b; fi",
            "! a",
            "a &> b",
            "a |& b",
            "a;; b",
            "a <<< b",
            "> x",
            "a >| b",
            "a >! b",
            "a >& b",
            "a 12> b",
            "a {fd}> b",
            "a <1-5>",
            "a $'b'",
            "a ${b:-c}",
            "a $((1))",
            "a $x[1]",
            "=ls",
            "- a",
            "%1",
            "a\r",
            "a\x0b",
            "a\u{a0}b",
            "a 'b",
            "a \"b",
            "a && ",
            "&& a",
            "a\\",
            "a=(b)",
            "a[1]=b",
            "a+=b",
            "f() { a; }",
            "a 'b''c'",
            "a #b",
            "a !b",
            "~/a",
            "a | | b",
            "$x a",
            "a & & b",
            "a &b",
            "A=1 & b",
            "A=1 | b",
            "b | A=1",
        ] {
            let _ = why(text);
        }
    }
}
