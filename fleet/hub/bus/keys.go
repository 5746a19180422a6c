// Package bus sets up NATS for the hub: the embedded server, the keys and permissions of
// agents, the stream of their messages.
package bus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/message"
)

// keyFile keeps the seeds, mode 0600. Whoever has it can be any agent, and the hub.
const keyFile = "nats-keys.json"

// Keys are those of the operator, of the accounts, and the one that signs for
// agents.
type Keys struct {
	operator, system, account, signing nkeys.KeyPair
}

// seeds is the form in which keys are kept.
type seeds struct {
	Operator string `json:"operator"`
	System   string `json:"system"`
	Account  string `json:"account"`
	Signing  string `json:"signing"`
}

// LoadKeys reads the keys of a state folder, and makes them the first time.
func LoadKeys(dir string) (*Keys, error) {
	file := filepath.Join(dir, keyFile)
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return makeKeys(file)
	}
	if err != nil {
		return nil, err
	}
	var s seeds
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	k := &Keys{}
	for _, one := range []struct {
		seed string
		into *nkeys.KeyPair
	}{{s.Operator, &k.operator}, {s.System, &k.system}, {s.Account, &k.account}, {s.Signing, &k.signing}} {
		if *one.into, err = nkeys.FromSeed([]byte(one.seed)); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return k, nil
}

// NewSigning gives a hub another key to sign with: the credentials of all agents, and all
// invitations, end.
func NewSigning(dir string) error {
	file := filepath.Join(dir, keyFile)
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s seeds
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	pair, err := nkeys.CreateAccount()
	if err != nil {
		return err
	}
	seed, err := pair.Seed()
	if err != nil {
		return err
	}
	s.Signing = string(seed)
	if b, err = json.Marshal(s); err != nil {
		return err
	}
	return renameio.WriteFile(file, b, 0o600)
}

func makeKeys(file string) (*Keys, error) {
	k, s := &Keys{}, seeds{}
	for _, one := range []struct {
		make func() (nkeys.KeyPair, error)
		into *nkeys.KeyPair
		seed *string
	}{{nkeys.CreateOperator, &k.operator, &s.Operator}, {nkeys.CreateAccount, &k.system, &s.System},
		{nkeys.CreateAccount, &k.account, &s.Account}, {nkeys.CreateAccount, &k.signing, &s.Signing}} {
		pair, err := one.make()
		if err != nil {
			return nil, err
		}
		seed, err := pair.Seed()
		if err != nil {
			return nil, err
		}
		*one.into, *one.seed = pair, string(seed)
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return k, renameio.WriteFile(file, b, 0o600)
}

func public(k nkeys.KeyPair) string {
	p, err := k.PublicKey()
	if err != nil {
		panic(err) // it was made of a seed
	}
	return p
}

// Secret is a key for what hubs must agree upon among each other, such as
// challenges.
func (k *Keys) Secret() []byte {
	seed, err := k.signing.Seed()
	if err != nil {
		panic(err)
	}
	return seed
}

// operatorJWT and accountJWT are what a server is configured with.
func (k *Keys) operatorClaims() *jwt.OperatorClaims {
	c := jwt.NewOperatorClaims(public(k.operator))
	c.Name = "fettle"
	c.SystemAccount = public(k.system)
	return c
}

// accountClaims is the account in which all is, less the keys that are banned:
// theirs are the credentials from before a time.
func (k *Keys) accountClaims(banned map[string]time.Time) *jwt.AccountClaims {
	c := jwt.NewAccountClaims(public(k.account))
	c.Name = "fettle"
	c.SigningKeys.Add(public(k.signing))
	c.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: 4, Consumer: 16}
	for key, at := range banned {
		c.RevokeAt(key, at)
	}
	return c
}

// limits are those of whatever is no hub.
func limits(subs int64) jwt.Limits {
	return jwt.Limits{NatsLimits: jwt.NatsLimits{Subs: subs, Data: jwt.NoLimit, Payload: message.MaxPacked + 4<<10}}
}

// AgentJWT admits an agent: it may publish as itself, and hear what is for it.
func (k *Keys) AgentJWT(agent, key string) (string, error) {
	c := jwt.NewUserClaims(key)
	c.Name = agent
	c.IssuerAccount = public(k.account)
	c.Limits = limits(4)
	c.Pub.Allow.Add(message.From(agent, key) + ".*")
	c.Sub.Allow.Add(message.ToAll, message.To(agent, "*"))
	return c.Encode(k.signing)
}

// JoinJWT lets anybody who has it ask to be admitted, and nothing else, until
// it expires.
func (k *Keys) JoinJWT(expires time.Time) (string, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	c := jwt.NewUserClaims(public(pair))
	c.Name = "join"
	c.IssuerAccount = public(k.account)
	c.Limits = limits(2)
	c.BearerToken = true
	if !expires.IsZero() {
		c.Expires = expires.Unix()
	}
	c.Pub.Allow.Add(message.Join)
	c.Sub.Allow.Add(message.JoinInbox + ".>")
	return c.Encode(k.signing)
}

// hubUser is the hub itself: a JWT and the key for it.
func (k *Keys) hubUser() (string, nkeys.KeyPair, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", nil, err
	}
	c := jwt.NewUserClaims(public(pair))
	c.Name = "hub"
	c.IssuerAccount = public(k.account)
	s, err := c.Encode(k.signing)
	return s, pair, err
}

// ServerConfig is what belongs into the configuration of nats-server where the
// hub uses a cluster of others.
func (k *Keys) ServerConfig() (string, error) {
	op, err := k.operatorClaims().Encode(k.operator)
	if err != nil {
		return "", err
	}
	account, err := k.accountClaims(nil).Encode(k.operator)
	if err != nil {
		return "", err
	}
	system, err := k.systemClaims().Encode(k.operator)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(
		"operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n  %s: %s\n  %s: %s\n}\n",
		op,
		public(k.system),
		public(k.account),
		account,
		public(k.system),
		system,
	), nil
}

func (k *Keys) systemClaims() *jwt.AccountClaims {
	c := jwt.NewAccountClaims(public(k.system))
	c.Name = "SYS"
	return c
}
