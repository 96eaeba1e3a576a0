//! The vectors are what libmemcached 1.1.4 (Debian 12, x86-64) answered for the keys `key-0` to `key-9999`. The test in
//! `tests/libmemcached.rs` asks it again.

use super::*;

/// `host:port weight`, or the path of a socket.
fn servers(list: &[&str]) -> Vec<RingServer> {
    let server = |text: &&str| {
        let (address, weight) = text.split_once(' ').unwrap_or((text, "0"));
        let (name, port) = address.split_once(':').unwrap_or((address, "0"));
        RingServer { name: name.into(), port: port.parse().unwrap(), weight: weight.parse().unwrap() }
    };
    list.iter().map(server).collect()
}

fn ring(list: &[&str], distribution: Distribution) -> Ring {
    Ring::new(&servers(list), distribution).unwrap()
}

fn keys() -> impl Iterator<Item = Vec<u8>> {
    (0..10_000).map(|number| format!("key-{number}").into_bytes())
}

/// One number that stands for the servers of all keys, in their order.
fn digest(ring: &Ring) -> u64 {
    keys().fold(0, |digest, key| (digest * 31 + ring.server(&key) as u64 + 1) % 4_294_967_291)
}

/// The servers of the first 64 keys.
fn first(ring: &Ring) -> String {
    keys().take(64).map(|key| ring.server(&key).to_string()).collect()
}

const FOUR: [&str; 4] = ["127.0.0.1:11255", "127.0.0.1:11256", "127.0.0.1:11257", "127.0.0.1:11258"];

#[test]
fn keys_are_where_libmemcached_puts_them() {
    use Distribution::{Ketama, KetamaWeighted};
    let mixed = ["127.0.0.1:11211", "localhost:11211", "127.0.0.1:11257", "a.example:11258"];
    let weights = ["127.0.0.1:11255 1", "127.0.0.1:11256 3", "127.0.0.1:11257 2"];
    let seven = ["127.0.0.1:1 7", "127.0.0.1:2 5", "b:3 1", "/tmp/a.sock", "/tmp/b.sock 4", "d:11211 9", "e:6"];
    let rows: [(&[&str], Distribution, &str, u64); 8] = [
        (&FOUR, Ketama, "0313133230031003133103010303132222032122302200323201302032301320", 4_065_254_585),
        (&FOUR, KetamaWeighted, "2222221002202200012333331300111123120012013021220311121210001220", 3_169_390_274),
        (&mixed, Ketama, "2011311010302303300031101133321232232022103310321230322202010320", 2_747_109_606),
        (&mixed, KetamaWeighted, "0221020330232200311101301223131120020300023210210003023210110320", 4_032_395_679),
        (&weights, Ketama, "0221202221112111011021212222000111111122112011121110212110111001", 3_063_442_548),
        (&weights, KetamaWeighted, "2222221202202200111010111220111121122012111021120111121210121220", 2_006_636_747),
        (&seven, Ketama, "0545550565551014160405444051450005051503110051550010315414605510", 2_147_766_506),
        (&seven, KetamaWeighted, "5554402100550545510405520054455250155000151350555050005415555510", 3_271_791_905),
    ];
    for (list, distribution, placed, all) in rows {
        let ring = ring(list, distribution);
        assert_eq!((first(&ring), digest(&ring)), (placed.to_owned(), all), "{distribution:?} of {list:?}");
    }
}

/// The floor of 32-bit floats gives each of 25, 50 and 100 equal servers 156 points rather than 160.
#[test]
fn rings_of_many_servers_are_rounded_as_in_libmemcached() {
    use Distribution::{Ketama, KetamaWeighted};
    let rows = [
        (25, Ketama, 2_482_039_605),
        (25, KetamaWeighted, 2_985_042_429),
        (49, KetamaWeighted, 474_374_486),
        (50, KetamaWeighted, 3_298_677_229),
        (100, Ketama, 2_372_405_727),
        (100, KetamaWeighted, 2_796_211_942),
    ];
    for (count, distribution, all) in rows {
        let list: Vec<String> = (1..=count).map(|port| format!("h:{port}")).collect();
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        assert_eq!(digest(&ring(&list, distribution)), all, "{distribution:?} of {count} servers");
    }
}

#[test]
fn a_name_beyond_ascii_is_hashed_as_signed_bytes() {
    let list = ["/tmp/ä.sock", "/tmp/b.sock"];
    assert_eq!(digest(&ring(&list, Distribution::Ketama)), 2_614_480_909);
    assert_eq!(digest(&ring(&list, Distribution::KetamaWeighted)), 2_572_727_131);
}

#[test]
fn a_lost_server_moves_only_its_own_keys() {
    for distribution in [Distribution::Ketama, Distribution::KetamaWeighted] {
        let ring = ring(&FOUR, distribution);
        for lost in 0..FOUR.len() {
            let mut moved = 0;
            for key in keys() {
                let before = ring.server(&key);
                let after = ring.server_without(&key, |server| server == lost).unwrap();
                assert_ne!(after, lost);
                assert!(before == lost || before == after, "a key of server {before} moved when {lost} was lost");
                moved += usize::from(before != after);
            }
            assert!(moved > 0 && moved <= 3000, "{moved} of 10,000 keys moved");
        }
    }
}

#[test]
fn no_server_is_chosen_where_all_are_away() {
    let ring = ring(&FOUR, Distribution::KetamaWeighted);
    let asked = std::cell::Cell::new(0);
    let is_away = |_| {
        asked.set(asked.get() + 1);
        true
    };
    assert_eq!(ring.server_without(b"key", is_away), None);
    assert_eq!(asked.get(), 4, "each server is asked about once");
    assert_eq!(ring.server_without(b"key", |server| server != 3), Some(3));
}

#[test]
fn a_server_of_tiny_weight_has_no_keys() {
    let ring = ring(&["a:1 1000", "b:2"], Distribution::Ketama);
    assert!(keys().all(|key| ring.server(&key) == 0));
    assert_eq!(ring.server_without(b"key", |server| server == 0), None);
}

#[test]
fn weights_may_be_as_large_as_a_number_can_be() {
    let largest = u32::MAX.to_string();
    let list = [format!("a:1 {largest}"), format!("b:2 {largest}")];
    let ring = ring(&[&list[0], &list[1]], Distribution::KetamaWeighted);
    assert!((3000..7000).contains(&keys().filter(|key| ring.server(key) == 0).count()));
}

#[test]
fn the_number_of_servers_is_bounded() {
    let many = vec![servers(&["a:1"])[0].clone(); SERVERS_MAX + 1];
    let error = Ring::new(&many, Distribution::Ketama).unwrap_err();
    assert_eq!(error.to_string(), "a ring has at most 100 servers, and these are 101");
    assert!(Ring::new(&many[..SERVERS_MAX], Distribution::Ketama).is_ok());
    assert_eq!(Ring::new(&[], Distribution::Ketama).unwrap_err(), RingError::NoServers);
}
