//! What must hold of any text of a platform: asked by the loop with a fixed seed, and by the fuzz
//! target of `tests/fuzz`, which includes this file.

use farcall_base::ErrorKind;
use farcall_platform::{MEMBERS_MAX, MISTAKES_MAX, Platform, SITES_MAX, SiteNumber};

/// Reads the text as a platform; whether it is one.
///
/// # Panics
/// When it is refused without a place or read beyond a limit; `place` says where the text is from.
pub fn text(text: &str, place: &dyn Fn() -> String) -> bool {
    let platform = match Platform::read(text, "f") {
        Ok(platform) => platform,
        Err(mistakes) => {
            let list = mistakes.list();
            let known = |error: &farcall_base::Error| {
                error.kind() == ErrorKind::InvalidSource && error.to_string().contains("line: ")
            };
            let are_known = (1..=MISTAKES_MAX).contains(&list.len()) && list.iter().all(known);
            assert!(are_known, "{}: {mistakes}\n{text}", place());
            return false;
        }
    };
    let sites = platform.sites();
    let is_bounded =
        (1..=SITES_MAX).contains(&sites.len()) && (1..=MEMBERS_MAX).contains(&platform.members());
    assert!(is_bounded, "{}: {text}", place());
    // Every member has a site, and every two sites have a link.
    let last = SiteNumber(sites.len() as u32 - 1);
    assert_eq!(platform.site_of(platform.members() - 1), Some(last), "{}", place());
    for number in 0..last.0 {
        let ends = [SiteNumber(number), last];
        let links = [platform.between(ends[0], last), platform.between(last, ends[0])];
        assert!(links.iter().all(Option::is_some), "{}: {text}", place());
    }
    let shape: String = text.chars().rev().take(5).collect();
    let _ = platform.with_sites(&shape);
    true
}
