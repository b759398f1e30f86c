//! Calls the C and the Fortran routine from Rust.
use farcall_client::{Array, Client};

fn main() -> farcall_client::Result<()> {
    let server = Client::connect(None)?;
    let rod = [0.0, 100.0, 0.0, 0.0, 0.0];
    let result =
        server.routine("heat")?.call([("u0", Array::vector(&rod).into()), ("steps", 2.into())])?;
    println!("{:?}", result.array::<f64>("u")?);

    let x = [0.0, 1.0, 2.0];
    let y = [0.0, 1.0, 0.0];
    let result = server
        .routine("area")?
        .call([("x", Array::vector(&x).into()), ("y", Array::vector(&y).into())])?;
    println!("{}", result.scalar::<f64>("total")?);
    Ok(())
}
