package push

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// settleTime is the least age of a changed file of users, so that no half-written file is read.
const settleTime = time.Second

// A usersFile is the file ReceiverOptions.UsersFile.
type usersFile struct {
	path string // or ""

	mu   sync.Mutex
	seen os.FileInfo // the file as last read
}

// follow replaces the users of r if the file has changed. An unusable file changes nothing.
func (f *usersFile) follow(r *Receiver) {
	if f.path == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		if f.seen != nil {
			f.seen = nil
			r.opts.Log.Error("the users who may push stay as they are", slog.Any("err", err))
		}
		return
	}
	if age := time.Since(info.ModTime()); f.seen != nil && os.SameFile(f.seen, info) && f.seen.Size() == info.Size() &&
		f.seen.Mode() == info.Mode() && f.seen.ModTime().Equal(info.ModTime()) || age >= 0 && age < settleTime {
		return
	}
	users, err := f.read()
	if err != nil {
		f.seen = info
		r.opts.Log.Error("the users who may push stay as they are", slog.Any("err", err))
		return
	}
	r.SetUsers(users)
	r.opts.Log.Info("the users who may push have changed", slog.String("file", f.path), slog.Int("users", len(users)))
}

// read reads the file. On Unix, other users of the system must not have access to it.
func (f *usersFile) read() ([]User, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		err = errors.New("others can read the passwords: chmod 600")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	users, err := ParseUsers(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	f.seen = info
	return users, nil
}
