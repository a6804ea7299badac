//! The bodies of the fuzz targets, and the server of .NET 11 that one of them uses.

pub mod bodies;
#[cfg(feature = "against-dotnet")]
pub mod dotnet;
