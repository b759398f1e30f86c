//! What every transport must do, as tests stamped on each: one list, so that none of them drifts
//! from the others.
//!
//! A transport's tests say how to make a pair of streams and how to let time pass, and call
//! [`stamp!`]:
//!
//! ```text
//! farcall_transport_battery::stamp!(rig);      // rig: fn() -> Rig
//! ```
#![allow(clippy::unwrap_used, reason = "a test's code: every failure here is a failed test")]

pub mod guards;
pub mod links;
pub mod recorder;
pub mod rig;
pub mod script;
pub mod streams;

pub use rig::Rig;

/// Makes one `#[test]` of every behaviour; `$rig` is a function without arguments that returns a
/// [`Rig`].
#[macro_export]
macro_rules! stamp {
    ($rig:path) => {
        $crate::stamp!($rig, streams:
            bytes_arrive_whole_and_in_order, vectors_are_one_run_of_bytes,
            end_of_stream_comes_after_the_last_byte, an_empty_stream_would_block,
            waiting_and_receiving_can_be_one,
            a_full_stream_pushes_back_and_goes_on, sixteen_mib_both_ways_at_once,
            a_dropped_peer_never_hangs_us, descriptors_come_with_their_byte,
            impossible_descriptors_are_refused,
        );
        $crate::stamp!($rig, links:
            control_frames_of_every_size, data_lands_in_place, channels_interleave,
            data_is_placed_piece_by_piece, compressed_data_comes_as_it_was,
            unwanted_data_is_thrown_away, a_budget_pauses_and_nothing_is_lost,
            descriptors_stay_with_their_frame, unknown_frames_are_skipped,
            a_lent_buffer_comes_back_with_frames,
        );
        $crate::stamp!($rig, guards:
            a_stranger_is_refused, another_version_is_refused, oversized_frames_are_refused,
            unknown_critical_frames_are_refused, a_truncated_frame_is_a_lost_connection,
            stray_descriptors_are_refused, compressed_frames_that_lie_are_refused,
            hostile_bytes_never_panic,
        );
        $crate::stamp!($rig, script: the_script_reads_the_same_on_every_transport,);
    };
    ($rig:path, $module:ident: $($behaviour:ident),+ $(,)?) => {
        mod $module {
            $(
                #[test]
                fn $behaviour() {
                    $crate::$module::$behaviour(&mut $rig());
                }
            )+
        }
    };
}
