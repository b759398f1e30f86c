//! An array of hashes of 32 bytes.
use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decoder, Encoder};

pub fn encode<C, W: Write>(
    contracts: &[[u8; 32]],
    out: &mut Encoder<W>,
    _: &mut C,
) -> Result<(), EncodeError<W::Error>> {
    out.array(contracts.len() as u64)?;
    for contract in contracts {
        out.bytes(contract)?;
    }
    Ok(())
}

pub fn decode<C>(input: &mut Decoder<'_>, _: &mut C) -> Result<Vec<[u8; 32]>, DecodeError> {
    let contracts = input.array_iter::<minicbor::bytes::ByteArray<32>>()?;
    // Room is made for what comes, not for what was promised.
    contracts.map(|contract| contract.map(|contract| *contract)).collect()
}
