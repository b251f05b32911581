//! The rule on free space. Where the figure comes from is the journal's business.

/// Free thousandths of the space below which new work is refused (design chapter 13, guard 8).
pub const NEW_WORK_FREE_PERMILLE: u32 = 50;
