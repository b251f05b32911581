//! The whole matrix of an execution's life.

use super::{
    stage::StageKind,
    table::{EventKind, Go, next},
};

#[test]
fn the_whole_matrix_of_stages_and_events() {
    let mut matrix = format!("{:<14}", "");
    for event in EventKind::ALL {
        matrix += &format!("{:<14}", format!("{event:?}"));
    }
    matrix = matrix.trim_end().to_owned() + "\n";
    for stage in StageKind::ALL {
        let mut row = format!("{:<14}", format!("{stage:?}"));
        for event in EventKind::ALL {
            let go = next(stage, event);
            let word = if go == Go::Stay { "-".to_owned() } else { format!("{go:?}") };
            row += &format!("{word:<14}");
        }
        matrix += row.trim_end();
        matrix += "\n";
    }
    expect_test::expect![[r#"
                      Begin         Prepared      Failed        Started       Ended         NextPrepared  NextFailed    Resized       ResizeRefused StopAsked     Forget        Collected     Removed
        Held          Prepare       -             -             -             -             -             -             -             -             End           Remove        -             -
        Preparing     -             Start         Judge         -             -             -             -             -             -             End           Remove        -             -
        Starting      -             -             Judge         Run           Judge         -             -             -             -             AwaitStart    AwaitStart    -             -
        Up            -             -             -             -             Judge         Restart       Refuse        Resized       Resized       Stop          Stop          -             -
        Restarting    -             -             -             -             Turn          -             -             -             -             Stop          Stop          -             -
        Waiting       Prepare       -             -             -             -             -             -             -             -             End           Remove        -             -
        Collecting    -             -             Spoil         -             -             -             -             -             -             -             Remove        Complete      -
        StoppingStart -             -             End           Stop          End           -             -             -             -             Merge         Merge         -             -
        Stopping      -             -             -             -             End           -             -             -             -             Merge         Merge         -             -
        Ended         -             -             -             -             -             -             -             -             -             -             Remove        -             -
        Removing      -             -             -             -             -             -             -             -             -             -             -             -             Gone
    "#]].assert_eq(&matrix);
}
