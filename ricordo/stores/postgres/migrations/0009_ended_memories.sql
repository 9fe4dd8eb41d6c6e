-- A task or an event that is done, over or off has ended: nothing took its place, and it stays in history.

ALTER TABLE user_memory_audit DROP CONSTRAINT user_memory_audit_action_check, ADD CONSTRAINT user_memory_audit_action_check
    CHECK (action IN ('remember', 'repeat', 'merge', 'supersede', 'update', 'refuse', 'forget', 'undo', 'purge', 'export',
        'import', 'end'));
