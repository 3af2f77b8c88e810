package pdu

import (
	"errors"
	"testing"
)

func TestLabelValues(t *testing.T) {
	set := parseLabels(t, LabelItem, `{"s":"7","n":-7.5e1,"t":true,"f":false,"z":null,"a":[1,2],"o":{},"big":1e999,"c":{"d":1}}`)
	for _, tt := range []struct {
		name   string
		kind   LabelKind
		text   string
		number float64
		isNum  bool
		truth  bool
		isBool bool
	}{
		{name: "s", kind: LabelString, text: "7"},
		{name: "n", kind: LabelNumber, text: "-7.5e1", number: -75, isNum: true},
		{name: "t", kind: LabelBool, text: "true", truth: true, isBool: true},
		{name: "f", kind: LabelBool, text: "false", isBool: true},
		{name: "z", kind: LabelNull, text: "null"},
		{name: "a", kind: LabelArray, text: "[1,2]"},
		{name: "o", kind: LabelObject, text: "{}"},
		{name: "big", kind: LabelNumber, text: "1e999"},
		{name: "c.d", kind: LabelNumber, text: "1", number: 1, isNum: true},
	} {
		l, ok := set.Get(tt.name)
		if !ok || l.Name != tt.name || l.Kind() != tt.kind || l.Text() != tt.text || l.Flags.Class() != LabelItem {
			t.Errorf("%s: %+v, %v, kind %v", tt.name, l, ok, l.Kind())
		}
		if v, ok := l.Number(); ok != tt.isNum || ok && v != tt.number {
			t.Errorf("%s: number %v, %v", tt.name, v, ok)
		}
		if v, ok := l.Bool(); ok != tt.isBool || v != tt.truth {
			t.Errorf("%s: bool %v, %v", tt.name, v, ok)
		}
	}
	if l, ok := set.Get("c"); ok || l.Kind() != LabelNull {
		t.Errorf("no such label: %+v", l)
	}
	if got := LabelKind(17).String() + " " + LabelArray.String(); got != "kind 17 array" {
		t.Error(got)
	}
}

func TestDecodeLabel(t *testing.T) {
	set := parseLabels(t, LabelItem, `{"a":[1,2],"s":"x"}`)
	var list []int
	if l, _ := set.Get("a"); l.Decode(&list) != nil || len(list) != 2 || list[1] != 2 {
		t.Error(list)
	}
	if l, _ := set.Get("s"); !errors.Is(l.Decode(&list), ErrType) {
		t.Error(l.Decode(&list))
	}
	list = nil
	if err := (NamedLabel{Name: "none"}).Decode(&list); err != nil || list != nil {
		t.Error(list, err)
	}
}
