package main

import (
	"strings"
	"testing"
)

func TestTheMasterKeyIsChangedUntilThatHasEnded(t *testing.T) {
	step := func(rest string) string {
		return `200 {"keyName":"mk_2","previousKeyName":"mk_1","keyFrom":"data/master-key","previousKeyFrom":"data/previous-master-key","unreadable":["endpoints ep_1"],` + rest + `}`
	}
	s := newServer(t, map[string][]string{"POST " + masterKeyPath: {
		step(`"resealed":0,"waitingFor":["api-1/7"],"done":false`), step(`"resealed":5,"waitingFor":[],"done":false`),
		step(`"resealed":0,"waitingFor":[],"done":false`), step(`"resealed":0,"waitingFor":[],"done":true`),
	}})
	got := run(t, s.env(), "", "master-key", "rotate")
	got.has(t, exitOK, "")
	golden(t, "master-key-rotate", "stdout:\n"+got.out+"stderr:\n"+got.errors)
	got = run(t, s.env(), "", "master-key", "rotate", "--json") // the last answer again
	got.has(t, exitOK, "may be taken away")
	if !strings.Contains(got.out, `"resealed":0`) || !strings.Contains(got.out, `"done":true`) {
		t.Errorf("printed %s", got.out)
	}
}

func TestAProcessThatKnowsOneMasterKeyIsNamed(t *testing.T) {
	s := newServer(t, map[string][]string{"POST " + masterKeyPath: {`409 {"title":"Conflict","detail":"these processes do not know the new master key: api-2/17"}`}})
	run(t, s.env(), "", "master-key", "rotate").has(t, exitChanged, "api-2/17")
}
