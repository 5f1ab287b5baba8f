drop table {schema}.push_messages, {schema}.push_ledger, {schema}.push_tokens, {schema}.push_topics;
drop sequence {schema}.push_seq;
