package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

type rateItem struct {
	Crypto        string      `json:"crypto"`
	Network       string      `json:"network"`
	Price         json.Number `json:"price"`
	WalletAddress string      `json:"walletAddress"`
	UpdatedAt     time.Time   `json:"updatedAt"`
}

func (c *cli) rate() *cobra.Command {
	return group("rate", "Set and list the rates for quotes", c.rateSet(), c.rateList())
}

func (c *cli) rateSet() *cobra.Command {
	var price, network, wallet string
	cmd := &cobra.Command{
		Use: "set CRYPTO --price P --network N --wallet W", Short: "Set the rate of a cryptocurrency from now on",
		Long: `Sets the rate of a cryptocurrency from now on. A rate that is too old, by default
older than 5 minutes, gives no quote: set it again and again, from a timer or a
price feed, even while the price stays.`,
		Example: "  ledgerhook rate set USDT --price 25450.5 --network TRC20 --wallet TXYZ…",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := struct {
				Price         json.Number `json:"price"`
				Network       string      `json:"network"`
				WalletAddress string      `json:"walletAddress"`
			}{json.Number(price), network, wallet}
			if _, err := json.Marshal(body.Price); err != nil {
				return usage("--price must be a number, like 25450.5: VND per token")
			}
			set, raw, err := fetch[rateItem](cmd.Context(), c, http.MethodPut, "/internal/v1/rates/"+url.PathEscape(args[0]), body)
			if err != nil {
				return err
			}
			c.say("the rate of %s is set: %s VND", plain(set.Crypto), plain(set.Price.String()))
			if c.json {
				return c.raw(raw)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&price, "price", "", "VND per token, like 25450.5")
	cmd.Flags().StringVar(&network, "network", "", "the network of the wallet, like TRC20")
	cmd.Flags().StringVar(&wallet, "wallet", "", "the address that receives the partner's tokens")
	c.jsonFlag(cmd)
	for _, name := range []string{"price", "network", "wallet"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

func (c *cli) rateList() *cobra.Command {
	return listOf(c, &cobra.Command{Use: "list", Short: "List the rates and when each was set", Args: cobra.NoArgs},
		func([]string) string { return "/internal/v1/rates" },
		[]string{"CRYPTO", "VND PER TOKEN", "NETWORK", "WALLET", "SET"},
		func(t *table, r rateItem) {
			t.row(r.Crypto, r.Price.String(), r.Network, r.WalletAddress, clock(r.UpdatedAt))
		})
}
