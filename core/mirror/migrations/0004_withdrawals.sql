-- Decisions about a withdrawal are actions about its account.

UPDATE actions SET user_id = ledger.user_id FROM ledger
WHERE actions.user_id IS NULL AND ledger.kind = 'withdrawal' AND ledger.ref = {{member "actions.detail" "withdrawal_id"}};
