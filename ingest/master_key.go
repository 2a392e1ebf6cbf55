package ingest

import (
	"context"
	"net/http"

	"ledgerhook/partners"
	"ledgerhook/web"
)

// MasterKey changes the key under which secrets are encrypted at rest.
type MasterKey interface {
	// RotateMasterKey takes the change a step further. It is a Conflict where a
	// process does not know both keys.
	RotateMasterKey(ctx context.Context, by partners.AuditEntry) (partners.MasterKeyRotation, error)
}

type masterKeyItem struct {
	Key          string   `json:"keyName"`
	Previous     string   `json:"previousKeyName"`
	KeyFrom      string   `json:"keyFrom"`
	PreviousFrom string   `json:"previousKeyFrom"`
	Resealed     int      `json:"resealed"`
	Unreadable   []string `json:"unreadable"`
	WaitingFor   []string `json:"waitingFor"`
	Done         bool     `json:"done"`
}

// rotateMasterKey takes the change of the master key a step further.
func (a *Internal) rotateMasterKey(w http.ResponseWriter, r *http.Request) error {
	m, err := a.MasterKey.RotateMasterKey(r.Context(), by(r, "master-key.rotate", ""))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, masterKeyItem{Key: m.Key, Previous: m.Previous, KeyFrom: m.KeyFrom, PreviousFrom: m.PreviousFrom, Resealed: m.Resealed,
		Unreadable: append([]string{}, m.Unreadable...), WaitingFor: append([]string{}, m.WaitingFor...), Done: m.Done})
}
