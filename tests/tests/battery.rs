//! The happy paths: one battery, run over each transport, with the generic host and with linked executables.

#![allow(clippy::unwrap_used)]

mod battery {
    pub mod arrays;
    pub mod shapes;
    pub mod traffic;
    pub mod values;
}

use std::sync::OnceLock;

use farcall_client::{Client, View};
use farcall_tests::{Server, Transport, battery as battery_file};

/// How a call travels, and who runs it.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// Shared memory, the generic host.
    Unix,
    /// Shared memory, an executable with the code linked in.
    UnixLinked,
    /// TCP, the generic host.
    Tcp,
    /// TCP, an executable with the code linked in.
    TcpLinked,
}

/// One server for all tests of a setting, so that they also disturb one another. It ends with this program.
pub fn server(setting: Setting) -> &'static Server {
    static SERVERS: [OnceLock<Server>; 4] = [const { OnceLock::new() }; 4];
    let (transport, linked) = match setting {
        Setting::Unix => (Transport::Unix, false),
        Setting::UnixLinked => (Transport::Unix, true),
        Setting::Tcp => (Transport::Tcp, false),
        Setting::TcpLinked => (Transport::Tcp, true),
    };
    SERVERS[setting as usize].get_or_init(|| Server::start(transport, &[battery_file(linked)], &[]))
}

/// A client of the setting's server.
pub fn client(setting: Setting) -> Client {
    server(setting).client()
}

/// A strided view of a slice: element (0, 0, …) lies at `first`.
pub fn view<T: farcall_client::Element>(elements: &mut [T], first: usize, shape: &[u64], strides: &[i64]) -> View {
    let bytes = size_of::<T>() as i64;
    View {
        base: (&raw mut elements[first]).cast(),
        element: T::TYPE,
        shape: Some((shape.to_vec(), strides.iter().map(|stride| stride * bytes).collect())),
    }
}

/// Each test in each setting.
macro_rules! in_all_settings {
    ($($room:ident::$test:ident,)*) => {
        in_all_settings!(@ unix Unix $($room::$test)*);
        in_all_settings!(@ unix_linked UnixLinked $($room::$test)*);
        in_all_settings!(@ tcp Tcp $($room::$test)*);
        in_all_settings!(@ tcp_linked TcpLinked $($room::$test)*);
    };
    (@ $name:ident $setting:ident $($room:ident::$test:ident)*) => {
        mod $name {
            use super::{Setting, battery};
            $(
                #[test]
                fn $test() {
                    battery::$room::$test(Setting::$setting);
                }
            )*
        }
    };
}

in_all_settings! {
    values::all_element_types,
    values::function_results,
    values::defaults_and_characters,
    values::strings,
    values::structs,
    values::aliases_and_permuted_arguments,
    arrays::rows_and_columns_with_leading_dimensions,
    arrays::ranges_and_strides,
    arrays::arguments_that_are_not_referenced,
    arrays::results_sized_by_the_routine,
    arrays::null_and_bare_pointers,
    shapes::sizes_around_every_border,
    shapes::views_that_are_not_contiguous,
    shapes::results_in_place_and_elsewhere,
    shapes::sixty_four_megabytes,
    traffic::two_clients,
    traffic::eight_threads_on_one_client,
    traffic::a_thousand_small_calls,
    traffic::two_hundred_calls_in_flight,
}
