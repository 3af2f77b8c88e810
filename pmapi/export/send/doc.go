// Package send posts messages made of metrics over HTTP, in order, and keeps those that the receiver cannot take for a time: in memory
// or in a directory. It is what packages otlp and remotewrite have in common; programs use those.
package send
