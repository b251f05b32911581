//! Names, ids, quantities, the job spec, phases, assignments and reports.
