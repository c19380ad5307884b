//! From the tree of a script to its simple commands and redirections.

use brush_parser::ast::{
    AndOr, AndOrList, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList,
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline, Program, RedirectList, SimpleCommand,
};

use super::{Script, Word};

pub(super) fn walk(program: &Program) -> Script {
    let mut script = Script::default();
    for list in &program.complete_commands {
        script.list(list);
    }
    script
}

impl Script {
    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            self.and_or(&item.0);
        }
    }

    fn and_or(&mut self, list: &AndOrList) {
        self.pipeline(&list.first);
        for next in &list.additional {
            match next {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline),
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if pipeline.seq.is_empty() {
            self.note("a part of it has no command");
        }
        for command in &pipeline.seq {
            match command {
                Command::Simple(simple) => self.simple(simple),
                Command::Compound(compound, redirects) => {
                    self.compound(compound);
                    self.redirects(redirects.as_ref());
                }
                Command::Function(function) => {
                    self.note("it defines a function");
                    self.compound(&function.body.0);
                    self.redirects(function.body.1.as_ref());
                }
                Command::ExtendedTest(_, redirects) => {
                    self.note("it has an extended test, which may run commands");
                    self.redirects(redirects.as_ref());
                }
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => {
                self.note("it has arithmetic, which may run commands");
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(group) => self.list(&group.list),
            CompoundCommand::ForClause(clause) => {
                // A loop sets a variable, and some variables say which programs run.
                if !matches!(clause.variable_name.as_bytes(), [b'a'..=b'z']) {
                    self.note(format!("its loop sets the variable {}", clause.variable_name));
                }
                for value in clause.values.iter().flatten() {
                    self.value(&value.value);
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                self.value(&clause.value.value);
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.value(&pattern.value);
                    }
                    case.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for clause in clause.elses.iter().flatten() {
                    clause.condition.iter().for_each(|list| self.list(list));
                    self.list(&clause.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(coprocess) => {
                self.note("it starts a coprocess");
                if let Command::Simple(simple) = coprocess.body.as_ref() {
                    self.simple(simple);
                }
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let mut words = vec![];
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, true, &mut words);
        }
        if let Some(name) = &simple.word_or_name {
            words.push(Word::read(&name.value));
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, false, &mut words);
        }
        if words.is_empty() {
            // zsh runs a program of its own then.
            return self.note("a part of it has no command");
        }
        self.commands.push(words);
    }

    fn item(&mut self, item: &Item, before_name: bool, words: &mut Vec<Word>) {
        match item {
            Item::IoRedirect(redirect) => self.redirect(redirect),
            Item::Word(word) => words.push(Word::read(&word.value)),
            Item::AssignmentWord(assignment, word) => {
                if before_name {
                    self.note(format!("it sets a variable: {}", assignment.name));
                } else {
                    words.push(Word::read(&word.value));
                }
            }
            Item::ProcessSubstitution(_, inner) => {
                self.note("it substitutes a process");
                self.list(&inner.list);
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect));
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, kind, target) => self.file(kind, target),
            IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                if document.requires_expansion && text.contains(['$', '`', '\\']) {
                    self.note("its here-document is expanded by the shell");
                }
                if document.here_end.value.contains(['$', '`', '\\', '"']) {
                    self.note("its here-document ends in an unusual way");
                }
            }
            IoRedirect::HereString(_, word) => self.value(&word.value),
            IoRedirect::OutputAndError(word, _) => self.writes.push(Word::read(&word.value)),
        }
    }

    fn file(&mut self, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget) {
        match target {
            IoFileRedirectTarget::Fd(_) => {}
            IoFileRedirectTarget::ProcessSubstitution(_, inner) => {
                self.note("it substitutes a process");
                self.list(&inner.list);
            }
            IoFileRedirectTarget::Filename(word) => match kind {
                IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => {
                    self.reads.push(Word::read(&word.value));
                }
                IoFileRedirectKind::Write
                | IoFileRedirectKind::Append
                | IoFileRedirectKind::ReadAndWrite
                | IoFileRedirectKind::Clobber
                | IoFileRedirectKind::DuplicateOutput => self.writes.push(Word::read(&word.value)),
            },
            IoFileRedirectTarget::Duplicate(word) => {
                // `2>&1` and `<&-`; everything else is a file.
                let number = word.value.strip_suffix('-').unwrap_or(&word.value);
                if !number.chars().all(|c| c.is_ascii_digit()) {
                    self.writes.push(Word::read(&word.value));
                }
            }
        }
    }

    /// A word that is no argument of a command.
    fn value(&mut self, raw: &str) {
        if let Word::Dynamic(_) = Word::read(raw) {
            self.note(format!("only the shell knows what {raw} is"));
        }
    }
}
