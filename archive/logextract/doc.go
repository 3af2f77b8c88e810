// Package logextract merges archives, and takes parts out of them.
package logextract
