//! What a shell cannot do. Each line is also in docs/shells.md, for users.

use trl_testkit::Shell;

use crate::case::Outcome;

/// A row that a shell is known to fail.
pub(crate) struct Known {
    shell: Shell,
    row: u32,
    /// The failure says one of these.
    symptoms: &'static [&'static str],
    reason: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        shell: Shell::Bash,
        row: 74,
        symptoms: &["timed out"],
        reason: "extdebug with a failing DEBUG trap skips every command, the report too: it ends at the timeout",
    },
    Known {
        shell: Shell::Zsh,
        row: 36,
        symptoms: &["still there", "kill %1"],
        reason: "zsh numbers jobs on from those of the nesting it runs in: use %+ or $!",
    },
    Known {
        shell: Shell::Zsh,
        row: 63,
        symptoms: &["trace missing"],
        reason: "zsh sends a trace switched on by an earlier command to the shell's own stderr",
    },
    Known {
        shell: Shell::Zsh,
        row: 77,
        symptoms: &["code 9"],
        reason: "an ERR trap that exits also fires on the conditions of the shell's own loop: the next command is lost",
    },
    Known {
        shell: Shell::Ash,
        row: 81,
        symptoms: &["timed out"],
        reason: "closing the descriptors ash keeps for itself hangs it: it ends at the timeout",
    },
    Known {
        shell: Shell::Fish,
        row: 85,
        symptoms: &["SigIgn:\t0000000180000000"],
        reason: "fish ignores the first two real-time signals, which nothing uses",
    },
    Known {
        shell: Shell::Fish,
        row: 86,
        symptoms: &["SigIgn:\t0000000180000000"],
        reason: "fish ignores the first two real-time signals, which nothing uses",
    },
    Known {
        shell: Shell::Ksh93,
        row: 6,
        symptoms: &["echo a \\"],
        reason: "ksh93 runs the text by eval, which keeps a backslash at the very end",
    },
    Known {
        shell: Shell::Ksh93,
        row: 30,
        symptoms: &["not all alive"],
        reason: "sleep is built into ksh93, so its background copy is a ksh93 process",
    },
    Known {
        shell: Shell::Ksh93,
        row: 45,
        symptoms: &["earlier background job"],
        reason: "sleep is built into ksh93, so its background copy is a ksh93 process",
    },
    Known {
        shell: Shell::Dash,
        row: 155,
        symptoms: &["IFS=x: code 0"],
        reason: "the loop sets IFS for its read, which ends a dash whose IFS is readonly: the command is undone",
    },
    Known {
        shell: Shell::Ash,
        row: 155,
        symptoms: &["IFS=x: code 0"],
        reason: "the loop sets IFS for its read, which ends an ash whose IFS is readonly: the command is undone",
    },
];

pub(crate) fn find(shell: Shell, row: u32) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.shell == shell && known.row == row)
}

impl Known {
    /// A known failure passes, anything else fails.
    pub(crate) fn judge(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Ok(()) => Err("now passes: remove it from KNOWN and docs/shells.md".into()),
            Err(why) if self.symptoms.iter().any(|symptom| why.contains(symptom)) => {
                println!("known: {} ({why})", self.reason);
                Ok(())
            }
            Err(why) => Err(format!("fails, but not as known ({}): {why}", self.reason)),
        }
    }
}
