//! `trl digest`: what this program is known by on other machines. A daemon that copied it there asks for it.

use super::failure::Failure;
use super::print;
use trl_core::runtime::arrival;

#[derive(Debug, clap::Args)]
pub(super) struct DigestArgs {
    /// Take the place of the program with this digest, if it is this one
    #[arg(long, value_name = "SHA256")]
    settle: Option<String>,
}

pub(super) fn digest(args: DigestArgs) -> Result<u8, Failure> {
    match args.settle {
        None => print::line(&arrival::own_digest()?)?,
        Some(digest) => {
            arrival::settle(&digest)?;
            print::line(&digest)?;
        }
    }
    Ok(0)
}
