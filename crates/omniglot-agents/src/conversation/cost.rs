//! Costs in US dollars, and those of a session from a sum that some agents restart with each process (T15).

/// The costs of a session in US dollars, over all of its processes.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// The cost before the agent's sum began.
    before: f64,
    /// The agent's sum; unknown after a resume, until it is said once.
    sum: Option<f64>,
}

impl Account {
    /// The account of a session that has spent so much in its earlier processes.
    pub(crate) fn having_spent(before: f64) -> Self {
        Self { before, sum: None }
    }

    /// A session that is new to the agent has cost nothing; one that comes back may have.
    pub(crate) fn session_opened(&mut self, is_new: bool) {
        *self = Self { before: self.spent(), sum: is_new.then_some(0.0) };
    }

    pub(crate) fn told(&mut self, sum: f64) {
        self.before = match self.sum {
            // A sum that fell began anew.
            Some(last) if sum < last => self.before + last,
            Some(_) => self.before,
            None if sum < self.before => self.before,
            // The agent has counted on where its earlier process had stopped.
            None => 0.0,
        };
        self.sum = Some(sum);
    }

    pub(crate) fn spent(&self) -> f64 {
        rounded(self.before + self.sum.unwrap_or(0.0))
    }

    /// Returns the cost so far, if the agent's next sum will tell its growth.
    pub(crate) fn known(&self) -> Option<f64> {
        self.sum.map(|_| self.spent())
    }

    /// Returns the cost since then.
    pub(crate) fn since(&self, before: f64) -> f64 {
        rounded(self.spent() - before)
    }
}

/// Sums and differences carry noise far below a cent.
pub(crate) fn rounded(cost: f64) -> f64 {
    (cost * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_begins_anew_is_added_to_what_was_spent_before() {
        let mut account = Account::default();
        account.session_opened(true);
        account.told(0.003);
        assert_eq!(account.spent(), 0.003);
        account.told(0.001);
        assert_eq!((account.spent(), account.since(0.003)), (0.004, 0.001));
        let mut account = Account::having_spent(account.spent());
        account.session_opened(false);
        assert_eq!((account.spent(), account.known()), (0.004, None));
        account.told(0.002);
        assert_eq!((account.spent(), account.known()), (0.006, Some(0.006)));
    }

    #[test]
    fn a_sum_that_goes_on_is_the_whole() {
        let mut account = Account::having_spent(0.003);
        account.session_opened(false);
        account.told(0.004);
        assert_eq!(account.spent(), 0.004);
    }
}
