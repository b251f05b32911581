//! The four kinds of jobs and what "done" means for each.

super::words! {
    /// What a job is for; decides what done means and where its tasks come from.
    pub enum Kind {
        /// `count` tasks, done when every one has completed.
        Batch = "batch",
        /// `count` tasks that run until stopped; never done by itself.
        Service = "service",
        /// One task on each eligible host, until stopped.
        Daemon = "daemon",
        /// One task on each host eligible at the start, done when every one has completed.
        Ops = "ops",
    }
}

impl Kind {
    /// Whether a task that ends with success is done (batch, ops).
    #[must_use]
    pub const fn ends(self) -> bool {
        matches!(self, Self::Batch | Self::Ops)
    }
    /// Whether the tasks follow the hosts instead of a count (daemon, ops).
    #[must_use]
    pub const fn follows_hosts(self) -> bool {
        matches!(self, Self::Daemon | Self::Ops)
    }
}

impl<C> minicbor::Encode<C> for Kind {
    fn encode<W: minicbor::encode::Write>(
        &self,
        e: &mut minicbor::Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        e.str(self.as_str())?.ok()
    }
}

impl<'b, C> minicbor::Decode<'b, C> for Kind {
    fn decode(d: &mut minicbor::Decoder<'b>, _: &mut C) -> Result<Self, minicbor::decode::Error> {
        d.str()?.parse().map_err(|_| minicbor::decode::Error::message("unknown kind"))
    }
}
