//! Whether the log's writer gets on: a disk that hangs reports no error, so only the time tells.

use super::Hub;

impl Hub {
    pub(super) fn check_writer(&self) -> Result<(), String> {
        let age = self.inner.store.step_age();
        if age < self.inner.deadlines.writer_stall {
            return Ok(());
        }
        Err(format!(
            "the event log has been at one write for {:.1} s, so no command is answered; check the disk of the data \
             directory, or raise `writer_stall_seconds` under [limits] if it is only slow",
            age.as_secs_f32()
        ))
    }
}
