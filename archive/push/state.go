package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

// stateDir is the directory of states. No host can have this name.
const stateDir = ".push"

// A state is the part of an archive that outlives the Receiver.
type state struct {
	Number   uint32 `json:"archive"`
	Base     string `json:"base"` // including the directory of its host
	Owner    string `json:"owner"`
	Timeout  int    `json:"timeout"` // seconds
	Label    []byte `json:"label"`
	Finished bool   `json:"finished,omitempty"`
}

func (s *state) path() string { return fmt.Sprintf("%s/%d.json", stateDir, s.Number) }

// save writes the state.
func (a *incoming) save() error {
	b, err := json.Marshal(&a.state)
	if err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%08x", a.path(), rand.Uint32())
	if err = a.r.root.WriteFile(temp, b, 0o600); err == nil {
		err = a.r.root.Rename(temp, a.path())
	}
	if err != nil {
		_ = a.r.root.Remove(temp)
	}
	return err
}

// readStates calls each for every state. It logs and skips files that are not valid states.
func (r *Receiver) readStates(each func(state)) error {
	dir, err := r.root.Open(stateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	names, err := dir.Readdirnames(maxStates)
	if err = errors.Join(ignoreEOF(err), dir.Close()); err != nil {
		return err
	}
	for _, name := range names {
		var s state
		if path.Ext(name) != ".json" {
			continue
		}
		b, err := r.readState(path.Join(stateDir, name))
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err == nil && !s.isSound() {
			err = errors.New("it is damaged")
		}
		if err != nil {
			r.log.Warn("state of an archive", slog.String("file", name), slog.Any("err", err))
			continue
		}
		each(s)
	}
	return nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (r *Receiver) readState(name string) ([]byte, error) {
	f, err := r.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxState))
}

// isSound reports whether a state is valid.
func (s *state) isSound() bool {
	l, err := parseLabel(s.Label)
	dir, name := path.Split(s.Base)
	return err == nil && s.Number != 0 && s.Number <= maxNumber && s.Timeout > 0 && dir == hostDir(l.Host)+"/" && isHost(name)
}

// load reads the states that an earlier Receiver has saved, and measures the directory.
func (r *Receiver) load() error {
	r.usage = newUsage()
	err := r.readStates(func(s state) {
		r.usage.own(s.Base, s.Owner)
		if s.Finished || r.archives[s.Number] != nil {
			return
		}
		l, _ := parseLabel(s.Label)
		r.archives[s.Number] = &incoming{r: r, state: s, version: l.Version, turn: ctxwait.NewMutex(), last: time.Now()}
		r.perClient[s.Owner]++
	})
	if err != nil {
		return err
	}
	return r.measure(context.Background(), &r.usage)
}
