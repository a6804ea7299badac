// TO FILL IN before the first publication, as in ../Cargo.toml; its releases have tags such as vectors/v0.2.0.
module github.com/OWNER/dotnet-diagnostics-ipc/vectors

go 1.16
