package retention

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/filesys"
)

// A Compressor compresses files. Maintain removes a file only after it has unpacked the compressed
// copy and compared it.
type Compressor struct {
	// Suffix is the suffix of compressed files. Package archive and PCP must be able to read it, as
	// ".gz".
	Suffix string
	// Compress reads r to its end and writes the compressed data to w. It must stop when ctx ends.
	Compress func(ctx context.Context, w io.Writer, r io.Reader) error
}

// Gzip returns a Compressor that uses compress/gzip at the given level.
func Gzip(level int) *Compressor {
	return &Compressor{".gz", func(ctx context.Context, w io.Writer, r io.Reader) error {
		z, err := gzip.NewWriterLevel(w, level)
		if err != nil {
			return err
		}
		_, err = io.Copy(z, filesys.Reader(ctx, r))
		return errors.Join(err, z.Close())
	}}
}

// Command returns a Compressor that runs a command with the arguments argv, which must not be
// empty. The command compresses standard input to standard output, such as zstd with the suffix
// ".zst".
func Command(suffix string, argv ...string) *Compressor {
	return &Compressor{suffix, func(ctx context.Context, w io.Writer, r io.Reader) error {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		var errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = r, w, &errs
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, strings.TrimSpace(errs.String()))
		}
		return nil
	}}
}

// XZ returns a Compressor that runs xz as PCP does by default.
func XZ() *Compressor { return Command(".xz", "xz", "-0", "--block-size=10MiB", "-c") }

// compress compresses the files of archives of past days.
func (m *maintainer) compress(ctx context.Context, groups []*group) error {
	if m.Compress == nil {
		return nil
	}
	var errs []error
	for _, g := range groups {
		if m.writing(groups, g) || g.day >= m.today() || m.CompressAfter > 0 && m.Now.Sub(g.mtime) < m.CompressAfter {
			continue
		}
		for _, f := range g.files {
			if f.suffix != "" || f.part == "index" {
				continue
			}
			if err := m.compressFile(ctx, f); err != nil {
				errs = append(errs, failed("compress", f.name, err))
			}
			if ctx.Err() != nil {
				return errors.Join(errs...)
			}
		}
	}
	return errors.Join(errs...)
}

// compressFile replaces a file by its compressed copy.
func (m *maintainer) compressFile(ctx context.Context, f file) error {
	name := f.name + m.Compress.Suffix
	if m.DryRun {
		m.did("compressed", name, f.name)
		return nil
	}
	path, packed, temp := filepath.Join(m.dir, f.name), filepath.Join(m.dir, name), filepath.Join(m.work, name)
	if _, err := os.Lstat(packed); err == nil {
		return &fs.PathError{Op: "create", Path: packed, Err: fs.ErrExist}
	}
	m.at("compress " + f.name)
	err := copyFile(ctx, path, temp, func(w io.Writer, r io.Reader) error { return m.Compress.Compress(ctx, w, r) })
	if err == nil {
		err = sameContent(ctx, m.work, path, temp)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	m.at("publish " + name)
	if err := errors.Join(os.Rename(temp, packed), filesys.SyncDir(m.dir)); err != nil {
		return err
	}
	m.at("remove " + f.name)
	if err := os.Remove(path); err != nil {
		return err
	}
	m.did("compressed", name, f.name)
	return nil
}

// recoverCompressed removes files that also exist compressed, if the contents are equal. If they
// differ, it keeps both and continues with the other files.
func (m *maintainer) recoverCompressed(ctx context.Context) error {
	groups, err := scan(m.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, g := range groups {
		if err := context.Cause(ctx); err != nil {
			return errors.Join(append(errs, err)...)
		}
		plain := map[string]bool{}
		for _, f := range g.files {
			plain[f.name] = f.suffix == ""
		}
		for _, f := range g.files {
			if f.suffix == "" || !plain[f.plain] || m.writing(groups, g) {
				continue
			}
			path := filepath.Join(m.dir, f.plain)
			if err := sameContent(ctx, m.work, path, filepath.Join(m.dir, f.name)); err != nil {
				errs = append(errs, failed("complete", f.name, err))
				continue
			}
			m.at("remove " + f.plain)
			if err := os.Remove(path); err != nil {
				errs = append(errs, err)
				continue
			}
			m.did("recovered", "", f.plain)
		}
	}
	return errors.Join(errs...)
}

// errOther means that a compressed file differs from the uncompressed one.
var errOther = errors.New("it is not the compressed file beside it")

// sameContent checks that a file equals a compressed one, which it unpacks to a temporary file.
func sameContent(ctx context.Context, tempDir, plain, packed string) error {
	f, err := os.Open(plain)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p, err := archive.Options{TempDir: tempDir, MaxUnpacked: max(1, info.Size())}.OpenFile(ctx, packed)
	if err != nil {
		return err
	}
	defer p.Close()
	size, err := p.Size()
	if err != nil {
		return err
	}
	if info.Size() != size {
		return errOther
	}
	a, b := make([]byte, 1<<16), make([]byte, 1<<16)
	for off := int64(0); off < size && ctx.Err() == nil; off += int64(len(a)) {
		n := min(int64(len(a)), size-off)
		if _, err := p.ReadAt(a[:n], off); err != nil && err != io.EOF {
			return err
		}
		if _, err := f.ReadAt(b[:n], off); err != nil && err != io.EOF {
			return err
		}
		if !bytes.Equal(a[:n], b[:n]) {
			return errOther
		}
	}
	return context.Cause(ctx)
}
