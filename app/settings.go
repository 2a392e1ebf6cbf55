package app

import (
	"context"
	"fmt"

	"ledgerhook/config"
	"ledgerhook/partners"
	"ledgerhook/partners/mail"
)

// CheckSettings checks what config leaves to those who use it: the first
// operator's password, the address of the mail server and the certificates of
// the listeners. The error names the setting and not its value.
func CheckSettings(cfg config.Config) error {
	if cfg.AdminPassword != "" && cfg.Roles.Dashboard {
		if err := partners.CheckNewPassword(firstUsername, cfg.AdminPassword); err != nil {
			return fmt.Errorf("LEDGERHOOK_ADMIN_PASSWORD: %w", err)
		}
	}
	if cfg.SMTPURL != "" {
		if _, err := mail.NewSMTP(cfg.SMTPURL); err != nil {
			return err
		}
	}
	if _, err := InternalCertificate(cfg); err != nil {
		return err
	}
	if cfg.Roles.API || cfg.Roles.Dashboard {
		if _, err := PublicCertificate(cfg); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) checkSettings(context.Context) error {
	if err := CheckSettings(a.config); err != nil {
		return fmt.Errorf("the settings: %w", err)
	}
	return nil
}
