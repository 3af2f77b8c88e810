package send

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var testStates = []state{
	{Key: []string{"web1", "a\"b"}},
	{Key: []string{}, Events: 7, Upto: time.Date(2026, 11, 23, 12, 0, 0, 1, time.UTC)},
	{Events: 7, Upto: time.Date(2026, 11, 23, 12, 0, 0, 1, time.UTC), Batch: 9, Parts: 3},
	{Events: 7, Upto: time.Date(2026, 11, 23, 12, 0, 0, 1, time.UTC), Ended: true},
	{Batch: 1, Parts: 1},
}

// TestState: a state is read back unchanged.
func TestState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, s := range testStates {
		if err := s.write(path); err != nil {
			t.Fatal(err)
		}
		if got, err := readState(path, s.Key); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%+v, %v, want %+v", got, err, s)
		}
		if _, err := readState(path, append(s.Key, "more")); err == nil || !strings.Contains(err.Error(), "is of another archive") {
			t.Error("another key:", err)
		}
	}
}

// TestDamagedState: a damaged file, or one of another kind, is not accepted as a state.
func TestDamagedState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, text := range []string{"", "{", "[]", `"x"`, "\x00", `{"Events":"1"}`, `{"Events":-1,"Upto":"2026-11-23T12:00:00Z"}`, `{"Events":1}`, `{"Upto":"2026-11-23T12:00:00Z"}`,
		`{"Upto":"yesterday"}`, `{"Batch":1}`, `{"Parts":1}`, `{"Batch":1,"Parts":-1}`, `{"Batch":-1,"Parts":1}`, `{"Events":5,"Upto":"2026-11-23T12:00:00Z","Batch":5,"Parts":1}`,
		`{"Batch":1,"Parts":1,"Ended":true}`, `{"Events":9223372036854775808}`, `{"Events":1.5}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := readState(path, nil); err == nil || !strings.Contains(err.Error(), path+" is no state") {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
	if _, err := readState(t.TempDir(), nil); err == nil {
		t.Error("a directory is a state")
	}
}

func FuzzState(f *testing.F) {
	for _, s := range testStates {
		text, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseState(text)
		if err != nil {
			if !reflect.DeepEqual(s, state{}) {
				t.Errorf("%+v with %v", s, err)
			}
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		same, err := parseState(again)
		if err != nil || !same.Upto.Equal(s.Upto) {
			t.Fatalf("%s: %+v, %v", again, same, err)
		}
		if same.Upto = s.Upto; !reflect.DeepEqual(same, s) {
			t.Errorf("%+v, and once more %+v", s, same)
		}
	})
}
