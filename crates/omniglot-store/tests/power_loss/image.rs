//! The disk after a loss of power: it has everything that was flushed, and of the rest any part.

use std::collections::BTreeMap;
use std::path::Path;

use crate::disk::Op;
use crate::support::Dice;

/// A disk writes sectors of this size whole or not at all.
const SECTOR: usize = 512;

/// Whether the disk obeys flushes; one that does not shows that the test notices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    Honest,
    Lying,
}

#[derive(Default)]
struct Image {
    /// `None` while there is no such file.
    durable: Option<Vec<u8>>,
    /// The entries since the last flush, in order.
    pending: Vec<Op>,
    /// Whether the folder was flushed since the file was made.
    listed: bool,
}

/// Writes into `folder` what is there when the power goes after these entries.
pub(crate) fn after_power_loss(ops: &[Op], disk: Disk, dice: &mut Dice, folder: &Path) {
    let mut images: BTreeMap<&str, Image> = BTreeMap::new();
    for op in ops {
        match op {
            Op::Write { file, .. } | Op::Truncate { file, .. } | Op::Unlink { file } => {
                images.entry(file).or_default().pending.push(op.clone());
            }
            Op::Sync { file } if disk == Disk::Honest => images.entry(file).or_default().flush(),
            Op::SyncFolder => images.values_mut().for_each(Image::list),
            Op::Sync { .. } | Op::Answered(_) => {}
        }
    }
    for (name, image) in images {
        if let Some(bytes) = image.lose(dice) {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }
}

impl Image {
    fn flush(&mut self) {
        for op in std::mem::take(&mut self.pending) {
            self.apply(&op, |_| true);
        }
    }

    /// The names of files are on disk: no file that was made comes back to nothing, none that was removed is back.
    fn list(&mut self) {
        self.listed = true;
        if let Some(last) = self.pending.iter().rposition(|op| matches!(op, Op::Unlink { .. })) {
            self.pending.drain(..=last);
            self.durable = None;
        }
    }

    fn lose(mut self, dice: &mut Dice) -> Option<Vec<u8>> {
        if !self.listed && dice.below(4) == 0 {
            return None;
        }
        let fate = dice.below(4);
        for op in std::mem::take(&mut self.pending) {
            match fate {
                0 => {}
                1 => self.apply(&op, |_| true),
                2 if dice.below(2) == 0 => self.apply(&op, |_| true),
                2 => {}
                _ => self.apply(&op, |_| dice.below(2) == 0),
            }
        }
        self.durable
    }

    /// Carries out an entry; of a write only the sectors that `keeps` accepts.
    fn apply(&mut self, op: &Op, mut keeps: impl FnMut(usize) -> bool) {
        match op {
            Op::Write { offset, bytes, .. } => {
                let offset = usize::try_from(*offset).unwrap();
                let content = self.durable.get_or_insert_default();
                for (number, sector) in bytes.chunks(SECTOR).enumerate().filter(|(number, _)| keeps(*number))
                {
                    let start = offset + number * SECTOR;
                    let end = start + sector.len();
                    if content.len() < end {
                        content.resize(end, 0);
                    }
                    content[start..end].copy_from_slice(sector);
                }
            }
            Op::Truncate { length, .. } if keeps(0) => {
                self.durable.get_or_insert_default().resize(usize::try_from(*length).unwrap(), 0);
            }
            Op::Unlink { .. } if keeps(0) => self.durable = None,
            _ => {}
        }
    }
}
