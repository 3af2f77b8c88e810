package pdu

import (
	"errors"
	"testing"
)

func TestLabelValues(t *testing.T) {
	set := parseLabels(t, LabelItem, `{"s":"7","n":-7.5e1,"t":true,"f":false,"z":null,"a":[1,2],"o":{},"big":1e999,"c":{"d":1}}`)
	for name, want := range map[string]string{
		"s": "7", "n": "-7.5e1", "t": "true", "f": "false", "z": "null", "a": "[1,2]", "o": "{}", "big": "1e999", "c.d": "1",
	} {
		l, ok := set.Get(name)
		if !ok || l.Name != name || l.Text() != want || l.Flags.Class() != LabelItem {
			t.Errorf("%s: %+v, %v", name, l, ok)
		}
	}
	if l, ok := set.Get("c"); ok {
		t.Errorf("no such label: %+v", l)
	}
}

func TestDecodeLabel(t *testing.T) {
	set := parseLabels(t, LabelItem, `{"a":[1,2],"s":"x","n":-7.5e1,"t":true,"f":false,"z":null}`)
	var list []int
	if l, _ := set.Get("a"); l.Decode(&list) != nil || len(list) != 2 || list[1] != 2 {
		t.Error(list)
	}
	if l, _ := set.Get("s"); !errors.Is(l.Decode(&list), ErrType) {
		t.Error(l.Decode(&list))
	}
	for name, want := range map[string]any{"n": -75.0, "t": true, "f": false, "z": nil} {
		var v any
		if l, _ := set.Get(name); l.Decode(&v) != nil || v != want {
			t.Errorf("%s: %v, want %v", name, v, want)
		}
	}
	list = nil
	if err := (NamedLabel{Name: "none"}).Decode(&list); err != nil || list != nil {
		t.Error(list, err)
	}
}
