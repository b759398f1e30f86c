//! Platforms that come with Farcall, platforms of all shapes, and texts that are none.
#![allow(clippy::unwrap_used)]

mod judge;
mod mistakes;

use std::fs;
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind};
use farcall_platform::{Gateway, Inside, Link, Member, Platform, Rate, SiteNumber};

/// The files of `platforms/`.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

fn shipped(name: &str) -> Platform {
    let path = files().into_iter().find(|path| path.file_stem().unwrap() == name).unwrap();
    read(&fs::read_to_string(path).unwrap())
}

fn read(text: &str) -> Platform {
    Platform::read(text, "f.toml").unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

const ALL: [SiteNumber; 4] = [SiteNumber(0), SiteNumber(1), SiteNumber(2), SiteNumber(3)];

#[test]
fn every_platform_that_comes_along_is_read() {
    assert!(files().len() >= 3);
    for path in files() {
        let platform = shipped(path.file_stem().unwrap().to_str().unwrap());
        assert_eq!(platform.name(), path.file_stem().unwrap(), "the name is the file's");
        assert_eq!((platform.members(), platform.sites().len(), platform.seed()), (60, 4, 1));
        for kernel in ["acp", "asp", "atpg", "ida", "ra", "sor", "tsp", "water"] {
            platform.kernel(kernel).unwrap();
        }
    }
}

#[test]
fn the_studys_clusters_are_as_it_measured_them() {
    let das = shipped("das4x15");
    let site = das.site(ALL[3]);
    assert_eq!((site.name.as_str(), site.members, site.first_rank), ("d", 15, 45));
    assert_eq!(site.member, Member { message_ns: 80_000, rate: None });
    let rate = Rate::new(26_000_000).unwrap();
    assert_eq!(site.inside, Inside { latency_ns: 20_000, rate, multicast_ns: 65_000 });
    assert_eq!(site.gateway, Gateway { out_ns: 200_000, in_ns: 800_000 });
    let rate = Rate::new(566_250).unwrap();
    assert_eq!(das.between(ALL[0], ALL[3]), Some(Link { latency_ns: 350_000, rate }));
    assert_eq!(das.kernel("sor").unwrap().time_ns(1_000_000), 390_000_000);
}

/// A null message from member to member of another site, without what the members pay.
fn one_way_ns(platform: &Platform) -> u64 {
    let link = platform.between(ALL[0], ALL[1]).unwrap();
    let out_ns = platform.site(ALL[0]).gateway.out_ns;
    out_ns + link.latency_ns + platform.site(ALL[1]).gateway.in_ns
}

#[test]
fn one_way_between_sites_takes_what_was_measured() {
    assert_eq!(one_way_ns(&shipped("das4x15")), 1_350_000);
    assert_eq!(one_way_ns(&shipped("internet1997")), 4_000_000);
    assert_eq!(one_way_ns(&shipped("modern")), 15_000_000);
}

#[test]
fn other_sites_keep_what_all_share() {
    let das = shipped("das4x15");
    let unequal = das.with_sites("3+10+22").unwrap();
    assert_eq!(unequal.members(), 35);
    let ranks: Vec<_> = ALL[..3].iter().map(|site| unequal.ranks(*site)).collect();
    assert_eq!(ranks, [0..3, 3..13, 13..35]);
    let sites = [0, 2, 3, 12, 13, 34, 35, u32::MAX].map(|rank| unequal.site_of(rank));
    let [a, b, c, _] = ALL.map(Some);
    assert_eq!(sites, [a, a, b, b, c, c, None, None]);
    assert_eq!(unequal.site(ALL[1]).inside, das.site(ALL[0]).inside);
    assert_eq!(unequal.between(ALL[2], ALL[0]), das.between(ALL[0], ALL[1]));
    assert_eq!((unequal.between(ALL[1], ALL[1]), unequal.between(ALL[0], ALL[3])), (None, None));
    // The largest of each kind.
    let many = das.with_sites("1000x100").unwrap();
    assert_eq!((many.sites().len(), many.members()), (1_000, 100_000));
    assert_eq!(many.sites()[999].name, "all");
    assert_eq!(many.site_of(99_999), Some(SiteNumber(999)));
    assert_eq!(das.with_sites("1x1").unwrap().members(), 1);
}

#[test]
fn shapes_that_are_none_are_refused_with_the_shape() {
    let error = shipped("das4x15").with_sites("4y15").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        error.to_string(),
        "change the sites of the platform: \"4y15\" does not say how many members each site has \
        (sites: 4y15, platform: das4x15); write \"4x15\" for four sites of 15 members, or \
        \"3+10+22\" for three sites"
    );
    // One site needs no link; two need one.
    let one = read(
        "name = \"one\"\nsites = \"8\"\n[member]\nmessage = \"1 us\"\n\
        [inside]\nlatency = \"1 us\"\nrate = \"1 GB/s\"\n",
    );
    assert_eq!(one.site(ALL[0]).gateway, Gateway { out_ns: 0, in_ns: 0 });
    let error = one.with_sites("2x4").unwrap_err().to_string();
    assert!(error.contains("\"out\" of [gateway] is missing for site \"a\""), "{error}");
}

#[test]
fn sites_and_pairs_may_differ_from_all_others() {
    let platform = read(
        "name = \"mixed\"\nseed = 7\n\
        [[site]]\nname = \"delft\"\nmembers = 3\ninside = { latency = \"5 us\" }\n\
        [[site]]\nname = \"leiden\"\nmembers = 2\n\
        member = { message = \"9 us\", rate = \"1 GB/s\" }\ngateway = { in = \"3 us\" }\n\
        [member]\nmessage = \"1 us\"\n[inside]\nlatency = \"2 us\"\nrate = \"8 Gbit/s\"\n\
        [gateway]\nout = \"1 us\"\nin = \"2 us\"\n\
        [between]\nlatency = \"1 ms\"\nrate = \"1 MB/s\"\n\
        [[between.pair]]\nfrom = \"leiden\"\nto = \"delft\"\nlatency = \"7 ms\"\n",
    );
    assert_eq!(platform.seed(), 7);
    let delft = platform.site(ALL[0]);
    let leiden = platform.site(ALL[1]);
    // A multicast takes what a message does where the file says nothing else.
    assert_eq!((delft.inside.latency_ns, delft.inside.multicast_ns), (5_000, 5_000));
    assert_eq!((leiden.inside.latency_ns, leiden.inside.rate), (2_000, delft.inside.rate));
    assert_eq!(leiden.gateway, Gateway { out_ns: 1_000, in_ns: 3_000 });
    assert_eq!((delft.member.time_ns(4_096), leiden.member.time_ns(4_096)), (1_000, 13_096));
    let there = platform.between(ALL[0], ALL[1]).unwrap();
    let back = platform.between(ALL[1], ALL[0]).unwrap();
    assert_eq!((there.latency_ns, back.latency_ns), (1_000_000, 7_000_000));
    assert_eq!(there.rate, back.rate);
}

#[test]
fn links_may_all_be_given_by_pairs() {
    let text = "name = \"pairs\"\nsites = \"3x1\"\n[member]\nmessage = \"1 us\"\n\
        [inside]\nlatency = \"2 us\"\nrate = \"1 GB/s\"\n\
        [gateway]\nout = \"1 us\"\nin = \"1 us\"\n";
    let pair = |from: &str, to: &str| {
        format!(
            "[[between.pair]]\nfrom = \"{from}\"\nto = \"{to}\"\nboth = true\n\
            latency = \"1 ms\"\nrate = \"1 MB/s\"\n"
        )
    };
    let all = read(&(text.to_owned() + &pair("a", "b") + &pair("a", "c") + &pair("c", "b")));
    assert!(all.between(ALL[1], ALL[2]).is_some());
    let two = text.to_owned() + &pair("a", "b") + &pair("a", "c");
    let error = Error::from(Platform::read(&two, "f.toml").unwrap_err()).to_string();
    assert!(error.contains("there is no link from \"b\" to \"c\""), "{error}");
}

#[test]
fn an_unknown_kernel_is_refused_with_the_nearest() {
    let das = shipped("das4x15");
    let error = das.kernel("sro").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.to_string(),
        "charge the work of a kernel: the platform does not say what an operation of \"sro\" costs \
        (platform: das4x15, kernels: acp, asp, atpg, ida, ra, sor, tsp, water); did you mean \
        \"sor\"?"
    );
    let error = das.kernel("matrix-product").unwrap_err();
    assert_eq!(error.advice(), Some("add matrix-product = \"1 us\" to [kernels] in its file"));
}
