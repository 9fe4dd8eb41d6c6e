from ricordo.models.embeddings import Embedder
from ricordo.stores.langchain import vector_store
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space


async def test_a_langchain_retriever_finds_ones_own_documents_alone(db: Database, embedder: Embedder) -> None:
    await ensure_space(db.dsn, embedder)
    for user, text in (("anna", "The lamp burns whale oil."), ("berta", "The lamp burns paraffin.")):
        memory = MemoryManager(db, embedder, user)
        await memory.write_knowledge_base(text, {"source": f"{user}.txt", "title": "Lamp"})
    async with vector_store(db, embedder, "anna") as store:
        found = await store.as_retriever(search_kwargs={"k": 5}).ainvoke("What does the lamp burn?")
    assert [d.page_content for d in found] == ["The lamp burns whale oil."]
    assert found[0].metadata["source"] == "anna.txt"
