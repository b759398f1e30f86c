//! Plays the scripts in `tests/golden`. Commands begin with `> `; what each leads to stands below
//! it, indented.

use crate::conversation::Conversation;

impl farcall_golden::Conversation for Conversation {
    const MARK: &'static str = "  ";

    fn begin(_: &str) -> Conversation {
        Conversation::default()
    }

    fn event(&mut self, command: &str) -> Vec<String> {
        self.obey(command);
        std::mem::take(&mut self.said)
    }
}

#[test]
fn scripts_say_what_they_said() {
    farcall_golden::play_all::<Conversation>(env!("CARGO_MANIFEST_DIR"), 10);
}
