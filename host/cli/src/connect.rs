//! Where the controller is and who asks: flag, environment, then what `pliant up` left in the data
//! directory.

use crate::{args::Global, fail::Failure};
use pliant_client::{Client, Config, Token};
use pliant_types::codes::Code;
use std::path::{Path, PathBuf};

/// Where `up` listens when nothing else is said.
const DEFAULT_ADDRESS: &str = "127.0.0.1:7420";

/// The file with the address of a running `up`.
pub(crate) fn address_file(data_dir: &Path) -> PathBuf {
    data_dir.join("address")
}

/// The file with the address at which routes are served.
pub(crate) fn routes_file(data_dir: &Path) -> PathBuf {
    data_dir.join("routes.address")
}

/// The file with the admin token.
pub(crate) fn token_file(data_dir: &Path) -> PathBuf {
    data_dir.join("admin.token")
}

/// A token is one word; anything else could not be sent.
fn is_token(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A client by the command line.
pub(crate) fn client(global: &Global) -> Result<Client, Failure> {
    let address = match &global.addr {
        Some(address) => address.clone(),
        None => std::fs::read_to_string(address_file(&global.data_dir))
            .map_or_else(|_| DEFAULT_ADDRESS.to_owned(), |text| text.trim().to_owned()),
    };
    let path = global.token_file.clone().unwrap_or_else(|| token_file(&global.data_dir));
    let token = match std::fs::read_to_string(&path) {
        Ok(text) if is_token(&text) => Some(Token::new(&text)),
        Ok(_) => {
            let words = format!("{} holds no token: one word in one line", path.display());
            return Err(Failure::new(Code::Unauthorized, words)
                .hint("name the file that `pliant up` made, `admin.token` in its data directory"));
        }
        Err(error) if global.token_file.is_some() => {
            let words = format!("the token file {} cannot be read: {error}", path.display());
            return Err(Failure::new(Code::Unauthorized, words));
        }
        Err(_) => None,
    };
    Ok(Client::new(Config::new(&address).with_token(token))?)
}
