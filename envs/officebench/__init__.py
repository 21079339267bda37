"""OfficeBench: tasks of office work over a calendar, mails, tables and documents, which lie as rows in the state."""
