//! The AES engine: AES-256 in counter mode (6, 7.6).

use super::{EngineClock, EngineSite, Headers, Hex, Lanes, Region, Work};
use crate::protocol::Message;
use ::aes::Aes256;
use ctr::cipher::{KeyIvInit, StreamCipher};
use kernel::CounterList;
use kernel::trace::Counter;

/// Size of a block, which enters in one cycle.
const BLOCK: usize = 16;
/// Size of an initialization vector of RFC 3686.
const IV: usize = 8;

/// Parameters of an AES engine.
///
/// Ports:   flits in, flits out; packets keep their length.
/// Timing:  128 bits a cycle, fully pipelined. All bytes of a packet pass through, changed or not, and packets follow without
///          gaps. A packet leaves `pipeline_cycles` after its last block entered.
/// Source:  7.6 (128 bits a cycle, 250 MHz, 32 Gb/s); RTL (29 stages behind width converters of 512 to 128 bits).
/// Differs: keys are expanded in advance; the RTL's pipeline expands its one key beside the data.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AesParams {
    /// Clock of the pipeline.
    pub clock: EngineClock,
    /// FIFO between the scratchpad and the pipeline, in flits, 2 to 65536.
    pub fifo_flits: u32,
    /// Stages of the pipeline, 1 to 1024.
    pub pipeline_cycles: u32,
    /// The bytes to encrypt or decrypt; in counter mode both are the same operation.
    pub region: Region,
    /// Bytes at the end of the region that are excluded, for example a digest. If the region is missing or shorter, the packet
    /// is left unchanged and counted as `too_short`.
    pub trailer_bytes: u16,
    /// How headers are updated; `update` needs the region `payload`.
    pub headers: Headers,
    /// Keys in order of precedence: the first that applies is used. A packet without a key passes unchanged and is counted as
    /// `keyless`.
    pub keys: Vec<AesKey>,
}

/// A key and its counter mode.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AesKey {
    /// The packets that use it.
    pub of: KeyUse,
    /// The key, 64 hexadecimal digits.
    #[schemars(with = "String")]
    pub key: Hex<32>,
    /// The first counter block of each packet.
    pub counter: CounterBlock,
}

/// The packets that use a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum KeyUse {
    /// All packets.
    All {},
    /// Packets of a traffic class, by the packet's hop.
    Class {
        /// The class.
        class: u8,
    },
    /// Packets of a flow.
    Flow {
        /// The flow.
        flow: u32,
    },
}

/// The first counter block of a packet; later blocks count up as a 128-bit number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CounterBlock {
    /// The same for each packet, as in the prototype. Not secure, because all packets then share one key stream.
    Fixed {
        /// The block, 32 hexadecimal digits.
        #[schemars(with = "String")]
        block: Hex<16>,
    },
    /// RFC 3686: the nonce, 8 bytes from the packet, and 1. The region begins with these 8 bytes, which stay unchanged. If it
    /// is shorter, the packet is left unchanged and counted as `too_short`.
    Rfc3686 {
        /// The nonce, 8 hexadecimal digits.
        #[schemars(with = "String")]
        nonce: Hex<4>,
    },
}

impl KeyUse {
    fn applies(&self, message: &Message) -> bool {
        match *self {
            KeyUse::All {} => true,
            KeyUse::Class { class } => message.descriptor.hop().is_some_and(|hop| hop.class == class),
            KeyUse::Flow { flow } => message.descriptor.flow == flow,
        }
    }
}

impl AesParams {
    fn lanes(&self) -> Lanes {
        Lanes { clock: self.clock, n_lanes: 1, fifo_flits: self.fifo_flits, headers: self.headers }
    }

    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        self.lanes().check()?;
        self.headers.check(self.region)?;
        blocks::checks::within("pipeline_cycles", self.pipeline_cycles, 1, 1024)?;
        blocks::checks::within("the number of keys", self.keys.len(), 1, 1 << 16)
    }

    /// Encrypts or decrypts a packet, or returns why it is left unchanged.
    fn encrypt(&self, message: &mut Message) -> Result<(), Left> {
        let Some(key) = self.keys.iter().find(|key| key.of.applies(message)) else {
            return Err(Left::Keyless);
        };
        let Some(start) = self.region.start(message) else { return Err(Left::TooShort) };
        let end = message.data.len().checked_sub(self.trailer_bytes.into());
        let Some(end) = end.filter(|&end| end >= start) else { return Err(Left::TooShort) };
        let region = &mut message.data[start..end];
        let (block, data) = match key.counter {
            CounterBlock::Fixed { block } => (block.0, region),
            CounterBlock::Rfc3686 { nonce } => {
                let Some((iv, data)) = region.split_at_mut_checked(IV) else { return Err(Left::TooShort) };
                let mut block = [0; BLOCK];
                block[..4].copy_from_slice(&nonce.0);
                block[4..12].copy_from_slice(iv);
                block[15] = 1;
                (block, data)
            }
        };
        ctr::Ctr128BE::<Aes256>::new(&key.key.0.into(), &block.into()).apply_keystream(data);
        Ok(())
    }

    /// Adds the engine.
    pub(in crate::unit) fn add(&self, site: EngineSite) {
        self.lanes().add(site, || Aes::new(self.clone()));
    }
}

/// Why a packet is left unchanged.
enum Left {
    Keyless,
    TooShort,
}

struct Aes {
    params: AesParams,
    changed: Counter,
    keyless: Counter,
    too_short: Counter,
}

impl Aes {
    fn new(params: AesParams) -> Aes {
        Aes { params, changed: Counter::default(), keyless: Counter::default(), too_short: Counter::default() }
    }
}

impl Work for Aes {
    fn intake_cycles(&self, bytes: usize) -> u64 {
        bytes.div_ceil(BLOCK) as u64
    }

    fn finish_cycles(&self, _len: usize, _len_after: usize) -> u64 {
        self.params.pipeline_cycles.into()
    }

    fn in_flight(&self) -> usize {
        self.params.pipeline_cycles as usize + 1 // Packets of one block, plus one on its way out.
    }

    fn transform(&mut self, message: &mut Message) -> bool {
        let result = self.params.encrypt(message);
        let counter = match result {
            Ok(()) => &mut self.changed,
            Err(Left::Keyless) => &mut self.keyless,
            Err(Left::TooShort) => &mut self.too_short,
        };
        counter.add(1);
        result.is_ok()
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("changed", self.changed.total());
        counters.add("keyless", self.keyless.total());
        counters.add("too_short", self.too_short.total());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{AES, Packet, SCENE, Scene, at, bytes, outputs, packets, run};
    use expect_test::expect;
    use proptest::prelude::*;

    /// An engine with these `keys` that works on the bytes from `offset` on.
    fn engine(offset: u16, keys: &[&str]) -> String {
        let (params, _) = AES.split_once("[[keys]]").unwrap();
        let params = params.replace(r#"{ kind = "all" }"#, &format!(r#"{{ kind = "from", offset = {offset} }}"#));
        keys.iter().fold(params, |toml, key| format!("{toml}\n[[keys]]\n{key}"))
    }

    fn rfc3686(key: &str, nonce: &str) -> String {
        format!("of = {{ kind = \"all\" }}\nkey = \"{key}\"\ncounter = {{ kind = \"rfc3686\", nonce = \"{nonce}\" }}")
    }

    fn check(toml: &str, plain: &str, cipher: &str) {
        let (plain, cipher) = (bytes(plain), bytes(cipher));
        assert_eq!(outputs(toml, &[Packet::of(&plain)])[0].data, cipher);
        assert_eq!(outputs(toml, &[Packet::of(&cipher)])[0].data, plain);
    }

    /// Source: NIST SP 800-38A, F.5.5 and F.5.6.
    #[test]
    fn nist_test_vectors() {
        check(
            AES,
            "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
             30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710",
            "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
             2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
        );
    }

    /// Source: RFC 3686, test vectors 7 to 9. The packet is the initialization vector followed by the text.
    #[test]
    fn rfc_3686_test_vectors() {
        let key = "776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104";
        check(
            &engine(0, &[&rfc3686(key, "00000060")]),
            "db5672c97aa8f0b2 53696e676c6520626c6f636b206d7367",
            "db5672c97aa8f0b2 145ad01dbf824ec7560863dc71e3e0c0",
        );
        let key = "f6d66d6bd52d59bb0796365879eff886c66dd51a5b6a99744b50590c87a23884";
        check(
            &engine(0, &[&rfc3686(key, "00faac24")]),
            "c1585ef15a43d875 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "c1585ef15a43d875 f05e231b3894612c49ee000b804eb2a9b8306b508f839d6a5530831d9344af1c",
        );
        let key = "ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d";
        check(
            &engine(0, &[&rfc3686(key, "001cc5b7")]),
            "51a51d70a1c11148 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
            "51a51d70a1c11148 eb6c52821d0bbbf7ce7594462aca4faab407df866569fd07f48cc0b583d6071f1ec0e6b8",
        );
    }

    #[test]
    fn packets_use_the_key_of_their_class_or_flow() {
        let key = |of: &str, digit: &str| {
            let (key, block) = (digit.repeat(64), "0".repeat(32));
            format!("of = {of}\nkey = \"{key}\"\ncounter = {{ kind = \"fixed\", block = \"{block}\" }}")
        };
        let (by_flow, by_class) = ("{ kind = \"flow\", flow = 7 }", "{ kind = \"class\", class = 2 }");
        let toml = engine(0, &[&key(by_flow, "1"), &key(by_class, "2")]);
        let only =
            |digit| outputs(&engine(0, &[&key("{ kind = \"all\" }", digit)]), &[Packet::of(&[0; 8])])[0].data.clone();
        let packet = |words| Packet { words, ..Packet::of(&[0; 8]) };
        let (outs, counters) = run(&toml, &["0 f7 c2", "0 f1 c2", "0 f1 c1"].map(packet), &SCENE);
        let found: Vec<_> = outs.into_iter().map(|out| out.data).collect();
        assert_eq!(found, [only("1"), only("2"), vec![0; 8]]);
        expect![[r#"
            it.lane[0].packets 3
            it.lane[0].bytes 24
            it.lane[0].intake_cycles 3
            it.lane[0].changed 2
            it.lane[0].keyless 1"#]]
        .assert_eq(&counters.join("\n"));
    }

    #[test]
    fn only_the_region_is_changed() {
        let at_16 = engine(16, &[&rfc3686(&"0".repeat(64), "00000000")]);
        let at_payload = at_16.replace(r#"kind = "from", offset = 16"#, r#"kind = "payload""#);
        let data: Vec<u8> = (0..80).collect();
        let out = &outputs(&at_16, &[Packet::of(&data)])[0].data;
        assert_eq!(out[..24], data[..24], "the bytes before the region and the initialization vector");
        assert_ne!(out[24..], data[24..]);
        assert_eq!(outputs(&at_payload, &[Packet { fields: at(16), ..Packet::of(&data) }])[0].data, *out);
        let before_trailer = at_16.replace("trailer_bytes = 0", "trailer_bytes = 10");
        let cut = &outputs(&before_trailer, &[Packet::of(&data)])[0].data;
        assert_eq!(*cut, [&out[..70], &data[70..]].concat());
        let (outs, counters) =
            run(&at_payload, &[Packet { fields: at(73), ..Packet::of(&data) }, Packet::of(&data)], &SCENE);
        assert!(outs.iter().all(|out| out.data == data));
        assert!(counters.contains(&"it.lane[0].too_short 2".to_owned()), "{counters:?}");
        let (outs, counters) = run(&before_trailer, &[16, 25, 26].map(|len| Packet::of(&data[..len])), &SCENE);
        assert!(outs.iter().all(|out| out.data[..] == data[..out.data.len()]));
        assert!(counters.contains(&"it.lane[0].too_short 3".to_owned()), "{counters:?}");
    }

    #[test]
    fn bad_keys_are_errors() {
        let parse = |key: &str, nonce: &str| {
            let error = toml::from_str::<super::AesParams>(
                &engine(0, &[&rfc3686(key, nonce)]).replace("kind = \"aes-256-ctr\"", ""),
            );
            error.map(|_| ()).unwrap_err().message().to_owned()
        };
        expect![[r#""603d" must be 64 hexadecimal digits, 32 bytes"#]].assert_eq(&parse("603d", "00000060"));
        expect![[r#""0000006g" must be 8 hexadecimal digits, 4 bytes"#]].assert_eq(&parse(&"0".repeat(64), "0000006g"));
        let mut params: super::AesParams = toml::from_str(&AES.replace("kind = \"aes-256-ctr\"", "")).unwrap();
        params.keys.clear();
        expect!["the number of keys is 0, must be 1 to 65536"].assert_eq(&params.check().unwrap_err());
        params.pipeline_cycles = 0;
        expect!["pipeline_cycles is 0, must be 1 to 1024"].assert_eq(&params.check().unwrap_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn encrypting_twice_restores_the_packet(packets in packets(9000), offset in 0u16..100) {
            let toml = engine(offset, &[&rfc3686(&"5a".repeat(32), "01020304")]);
            let scene = Scene { longest: 9000, ..SCENE };
            let once: Vec<_> = run(&toml, &packets, &scene).0.iter().map(|out| Packet::of(&out.data)).collect();
            let twice = run(&toml, &once, &scene).0;
            for (packet, out) in packets.iter().zip(twice) {
                prop_assert_eq!(&packet.data, &out.data);
            }
        }
    }
}
