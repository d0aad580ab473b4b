//! placeholder until merged
use rustix::io::Errno;
/// x
#[derive(Debug)]
pub struct Sandbox;
impl Sandbox {
    /// x
    pub fn apply(&self) -> Result<(), Errno> {
        Ok(())
    }
}
