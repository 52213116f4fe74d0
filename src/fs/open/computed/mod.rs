//! Files whose bytes are made when somebody wants them: results of queries, `stream/since/`.
//!
//! Programs ask how large a file is before they read it, many trust the answer (tar, rsync, `wc -c`, whoever maps the file), and none can be
//! told from the others by its calls. So the size is exact up to [`SIZED_BYTES_MAX`].
//!
//! | difficulty | solved by |
//! |---|---|
//! | the size is known when everything was made | a [`Computation`] keeps its bytes in a [`Spool`]; who asks for the size waits for the end, who reads for the bytes |
//! | asking for a size must consume no capacity | steps are made on account; an [`OpenComputed`] settles the bills of what it gives, once |
//! | the open that follows a stat must not compute again | [`Kept`], for a short time and as long as nothing was committed |
//! | who has a file open keeps what it has | its handle holds its computation |
//! | a caller that was interrupted must not keep us busy | steps are made only while somebody waits; a later one goes on where they ended |
//! | a result may be of any length | beyond the limit the size is 0, as of a pipe, and each reader has a [`Window`] that keeps a page or two |

mod computation;
mod kept;
mod open;
mod producer;
mod spool;
mod window;

pub use computation::{Computation, SIZED_BYTES_MAX, Until, Wake};
pub use kept::Kept;
pub use open::{Answer, OpenComputed};
pub use producer::{MakeProducer, Producer};
pub use spool::{DISK_BYTES_MAX, Spool, Spools};
pub use window::Window;
