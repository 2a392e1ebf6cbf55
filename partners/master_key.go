package partners

// MasterKeyRotation is how far a change of the master key has come.
type MasterKeyRotation struct {
	Key, Previous string   // what the keys are called, see signer.Box.Names
	KeyFrom       string   // where the new one is from: a setting or a file
	PreviousFrom  string   // the same of the previous one
	Resealed      int      // texts that this step has sealed again
	Unreadable    []string // texts that neither key opens, 20 of them at most, by table and id
	WaitingFor    []string // processes that do not seal with the new key yet
	Done          bool     // nothing needs the previous key any more
}
