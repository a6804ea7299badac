// Package vectors has the golden vectors of the .NET Diagnostic IPC Protocol; index.json lists its files, README.md explains them.
package vectors

import "embed"

// Files are the JSON files of this directory.
//
//go:embed *.json exchanges/*.json schema/*.json
var Files embed.FS
